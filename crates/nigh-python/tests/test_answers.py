"""Answers of a model: links of several nodes, probabilities of links, and what a notebook shows."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import nigh


def fit(graph: Any, **settings: Any) -> nigh.Model:
    return nigh.train(graph, **{"model": "smp-linear", "epochs": 10, "repeats": 1, "progress": False, **settings})


@pytest.fixture(scope="module")
def people() -> nigh.Model:
    edges = nigh.Graph("communities").edge_index
    return fit([(f"p{a}", f"p{b}") for a, b in edges.T.tolist()], decoder="inner-product")


@pytest.mark.parametrize("nodes", [["p3", "p1"], ("p3", "p1"), np.array(["p3", "p1"])])
def test_links_of_several_nodes_are_those_of_each(people: nigh.Model, nodes: Any) -> None:
    links = people.predict(node=nodes, top=4)
    one_by_one = [people.predict(node=node, top=4) for node in ("p3", "p1")]
    assert links.node == ["p3", "p1"] and list(links.sources) == ["p3"] * 4 + ["p1"] * 4
    assert list(links.ids) == [id for one in one_by_one for id in one.ids]
    assert links.scores.tolist() == [score for one in one_by_one for score in one.scores.tolist()]
    assert repr(links) == "<links of 2 nodes: 8 in all>" and one_by_one[0].sources is None


def test_links_of_several_nodes_by_number(communities: nigh.Graph) -> None:
    model = fit(communities)
    links = model.predict(node=np.arange(50), top=2)
    assert links.sources is not None and links.sources.tolist() == np.repeat(np.arange(50), 2).tolist()
    assert len(model.predict(node=[], top=2)) == 0
    assert model.predict(node=np.int64(7), top=2).node == 7
    pandas = pytest.importorskip("pandas")
    frame = links.to_pandas()
    assert isinstance(frame, pandas.DataFrame) and list(frame.columns) == ["source", "id", "score", "exists"]
    assert list(model.predict(node=7).to_pandas().columns) == ["id", "score", "exists"]
    with pytest.raises(nigh.InputError, match="expected one id per row"):
        model.predict(node=[[1, 2], [3, 4]])


def test_the_probability_of_a_link_is_the_sigmoid_of_its_score(people: nigh.Model) -> None:
    pairs = [("p0", f"p{node}") for node in range(1, 40)]
    scores = people.predict(pairs=pairs).astype(float)
    for prior, shift in [(None, 0.0), (0.5, 0.0), (0.01, np.log(0.01 / 0.99))]:
        found = people.predict_proba(pairs=pairs, prior=prior)
        assert found == pytest.approx(1 / (1 + np.exp(-scores - shift)), abs=1e-5)
    with pytest.raises(nigh.InputError, match="`prior` is 1.5"):
        people.predict_proba(pairs=pairs, prior=1.5)
    with pytest.raises(nigh.InputError, match="`pairs`, which are missing"):
        people.predict_proba(prior=0.5)
    with pytest.raises(nigh.InputError, match="two questions"):
        people.predict_proba(["p0"], pairs=pairs)


def test_scores_that_are_not_logits_give_no_probabilities(communities: nigh.Graph) -> None:
    for settings in ({"model": "katz"}, {"decoder": "cosine"}):
        with pytest.raises(nigh.InputError, match="are not logits"):
            fit(communities, **settings).predict_proba(pairs=[(0, 1)])


def test_a_notebook_shows_links_and_baselines(people: nigh.Model) -> None:
    shown = people.predict(node="p3", top=2)._repr_html_()
    assert "links of p3" in shown and "<th>score</th>" in shown and shown.count("<tr>") == 3
    several = people.predict(node=[f"p{at}" for at in range(30)], top=2)._repr_html_()
    assert "<th>source</th>" in several and several.count("<tr>") == 51 and "and 10 more" in several
    model = people._repr_html_()
    assert all(f"<td>{baseline['name']}</td>" in model for baseline in people.summary["baselines"])
    assert people.summary["baselines"] and "±" not in model.split("<details>")[0], "one repeat has no deviation"
    assert "±" not in people.card


def test_a_weight_below_zero_names_the_remedy() -> None:
    with pytest.raises(nigh.InputError, match="weight -2 is not a positive number; `weight=False` reads"):
        nigh.Graph([(0, 1), (1, 2)], weight=[1.0, -2.0])
