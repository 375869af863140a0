"""Splits of one's own and ours: the same nodes and pairs in every form, and what is wrong with one is told."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import nigh

FAST: dict[str, Any] = {"model": "smp-linear", "epochs": 5, "repeats": 1, "progress": False}


def same(one: dict[str, Any], other: dict[str, Any]) -> bool:
    return set(one) == set(other) and all(np.array_equal(one[name], other[name]) for name in one)


@pytest.mark.parametrize("texts", [False, True])
def test_every_part_of_a_saved_split_is_there_again(communities: nigh.Graph, tmp_path: Path, texts: bool) -> None:
    edges = communities.edge_index.T
    graph = nigh.Graph([(f"n{a}", f"n{b}") for a, b in edges.tolist()]) if texts else communities
    given = nigh.split(graph, test_negative_ratio=2)
    assert len(given.test_negative) == 2 * len(given.valid_negative)
    given.save(tmp_path / "split", graph)
    assert same(nigh.Split.load(tmp_path / "split", graph).parts, given.parts)
    # By hand, with fewer training edges than the graph has without those that are held out.
    train = given.train_edges[:100]
    held_out = {part: (given.parts[f"{part}_positive"], given.parts[f"{part}_negative"]) for part in ("valid", "test")}
    by_hand = nigh.Split.pairs(train=train, **held_out)
    by_hand.save(tmp_path / "few", graph)
    assert same(nigh.Split.load(tmp_path / "few", graph).parts, {**given.parts, "train_edges": train})


def test_another_seed_is_another_split(communities: nigh.Graph) -> None:
    one, same, other = (nigh.split(communities, seed=seed) for seed in (1, 1, 2))
    assert one.digest == same.digest != other.digest
    assert not np.array_equal(one.test_positive, other.test_positive)


def test_masks_are_the_ids_that_they_mark(communities: nigh.Graph) -> None:
    ids = nigh.split(communities, task="node-classification")
    parts = {name: np.isin(communities.ids, part) for name, part in ids.parts.items()}
    found = [
        nigh.train(communities, task="node-classification", split=split, **FAST).evaluate()["metrics"]
        for split in (nigh.Split.nodes(**{name: np.sort(part) for name, part in ids.parts.items()}), nigh.Split.nodes(**parts))
    ]
    assert found[0] == found[1]
    with pytest.raises(nigh.InputError, match="some parts of the split are masks and others are ids"):
        nigh.Split.nodes(train=parts["train"], valid=parts["valid"], test=ids.test)
    short = nigh.Split.nodes(**{name: part[:-1] for name, part in parts.items()})
    with pytest.raises(nigh.InputError, match="the train part has 399 values, and the graph 400 nodes"):
        nigh.train(communities, task="node-classification", split=short, **FAST)


def test_a_pickled_model_is_evaluated_on_its_own_split(communities: nigh.Graph) -> None:
    given = nigh.split(communities, seed=7)
    held_out = {part: (given.parts[f"{part}_positive"], given.parts[f"{part}_negative"]) for part in ("valid", "test")}
    model = nigh.train(communities, split=nigh.Split.pairs(train=given.train_edges, **held_out), **FAST)
    assert pickle.loads(pickle.dumps(model)).evaluate() == model.evaluate()
    again = pickle.loads(pickle.dumps(model.graph))
    kept = nigh._nigh.given_split(again._native)
    assert kept is not None and np.array_equal(np.stack(kept["test_positive"], axis=1), given.test_positive)
