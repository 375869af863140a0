"""The figures of `Model.evaluate` are those of scikit-learn on the exported split and the model's own scores."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import nigh

metrics = pytest.importorskip("sklearn.metrics")

FAST: dict[str, Any] = {"model": "smp-linear", "epochs": 20, "repeats": 1, "progress": False}


def test_auc_and_average_precision_of_links(communities: nigh.Graph) -> None:
    model, split = nigh.train(communities, **FAST), nigh.split(communities, seed=1)
    visible = nigh.Graph(split.train_edges, nodes=communities.num_nodes)
    pairs = np.concatenate([split.test_positive, split.test_negative])
    y = np.repeat([1, 0], [len(split.test_positive), len(split.test_negative)])
    scores, found = model.predict(pairs=pairs, graph=visible), model.evaluate()["metrics"]
    assert found["auc"] == pytest.approx(metrics.roc_auc_score(y, scores), abs=1e-9)
    assert found["ap"] == pytest.approx(metrics.average_precision_score(y, scores), abs=1e-9)


def test_accuracy_and_f1_of_classes() -> None:
    graph = nigh.Graph("leaders")
    model = nigh.train(graph, task="node-classification", **FAST)
    test = nigh.split(graph, task="node-classification", seed=1).test
    y = np.array(graph.class_names)[graph.labels[test]]
    answer, found = model.predict(nodes=test).astype(str), model.evaluate()["metrics"]
    assert found["accuracy"] == pytest.approx(metrics.accuracy_score(y, answer), abs=1e-9)
    for average in ("micro", "macro"):
        assert found[f"{average}-f1"] == pytest.approx(metrics.f1_score(y, answer, average=average), abs=1e-9)


def test_f1_and_average_precision_of_several_labels(communities: nigh.Graph) -> None:
    labels = communities.labels
    y = np.stack([labels < 10, labels % 2 == 0, labels >= 5], axis=1).astype(int)
    graph = nigh.Graph(communities.edge_index, labels=y)
    model = nigh.train(graph, task="node-classification", **FAST)
    test = nigh.split(graph, task="node-classification", seed=1).test
    probabilities, found = model.predict_proba(test), model.evaluate()["metrics"]
    for average in ("micro", "macro"):
        expected = metrics.f1_score(y[test], probabilities >= 0.5, average=average)
        assert found[f"{average}-f1"] == pytest.approx(expected, abs=1e-9)
    assert found["ap"] == pytest.approx(metrics.average_precision_score(y[test], probabilities), abs=1e-6)
