"""Graphs beyond memory: what a run takes, and runs that keep to a limit."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import nigh


@pytest.fixture
def graph_file(tmp_path: Path) -> Path:
    rng = np.random.default_rng(1)
    edges = rng.integers(0, 300, (2_000, 2))
    lines = "\n".join(f"{a},{b}" for a, b in edges if a != b)
    text, out = tmp_path / "edges.csv", tmp_path / "graph.nigh"
    text.write_text(lines + "\n")
    assert nigh._nigh.program(["nigh", "data", "convert", str(text), "-q", "--out", str(out)]) == 0
    return out


SETTINGS: dict[str, Any] = {
    "model": "smp-linear",
    "pairs_per_epoch": 200,
    "epochs": 20,
    "repeats": 1,
    "progress": False,
}


def test_what_a_run_takes_is_told_before_it_is_started(graph_file: Path) -> None:
    sampled: dict[str, Any] = {"model": "smp-linear", "pairs_per_epoch": 20_480, "epochs": 30}
    found = nigh.estimate(nodes=50_000_000, edges=1_000_000_000, memory="8GiB", **sampled)
    assert found.plan == "out-of-core" and found.seconds > 1
    assert sum(found.parts.values()) == found["propagation"]["memory_bytes"] <= 8 << 30
    assert {part["part"] for part in found["runs"]["train"]["memory"]} >= {"pairs", "gathered rows"}
    assert found.memory["train"] == found["runs"]["train"]["memory_bytes"] <= 8 << 30
    for words in ("50000000 nodes", "panels of Ã^K E", "out of core", "gathered rows"):
        assert words in repr(found)
    # Of a file, a graph, and what makes one.
    graph = nigh.Graph(str(graph_file))
    for given in (str(graph_file), graph_file, graph, graph.edge_index):
        assert nigh.estimate(given)["num_edges"] == graph.num_edges
    with pytest.raises(nigh.InputError, match="this run takes .* at least"):
        nigh.estimate(nodes=50_000_000, edges=1_000_000_000, memory=1 << 30)
    with pytest.raises(nigh.InputError, match="such as 8GiB"):
        nigh.estimate(graph, memory="lots")
    with pytest.raises(nigh.InputError, match="`nodes` and `edges`"):
        nigh.estimate(nodes=5)
    with pytest.raises(TypeError, match="`hops`"):
        nigh.estimate(graph, hops=1.5)
    with pytest.raises(TypeError, match="`memory` is 1.5"):
        nigh.estimate(graph, memory=1.5)  # type: ignore[arg-type]


def test_a_training_within_a_limit_is_that_without(graph_file: Path) -> None:
    graph = nigh.Graph(str(graph_file))
    free = nigh.train(graph, **SETTINGS)
    limited = nigh.train(graph, memory="1GiB", **SETTINGS)
    assert free._native.to_bytes() == limited._native.to_bytes()
    for settings in (SETTINGS, {**SETTINGS, "pairs_per_epoch": 0}):
        with pytest.raises(nigh.InputError, match="this run takes .* at least"):
            nigh.train(graph, memory=1 << 20, **settings)


def test_vectors_written_within_a_limit_are_those_of_embed(graph_file: Path, tmp_path: Path) -> None:
    model = nigh.train(nigh.Graph(str(graph_file)), **SETTINGS)
    expected = np.asarray(model.embed())
    for memory in (None, "1GiB", 1 << 30):
        written = model.embed_to(tmp_path / "x.npy", memory=memory)
        assert written == [tmp_path / "x.npy", tmp_path / "x.npy.ids.txt"]
        assert np.array_equal(np.load(written[0]), expected)
    with pytest.raises(nigh.NighError, match="row by row"):
        model.embed_to(tmp_path / "x.csv")
    with pytest.raises(nigh.InputError, match="at least"):
        model.embed_to(tmp_path / "y.npy", memory="1MiB")
    assert not (tmp_path / "y.npy").exists()


LINKS: dict[str, Any] = {"epochs": 5, "repeats": 1, "progress": False}


@pytest.mark.parametrize("model", ["smp-linear", "smp-proximity", "gcn"])
def test_answers_within_a_limit_are_those_without(model: str, graph_file: Path) -> None:
    graph = nigh.Graph(str(graph_file))
    trained = nigh.train(graph, model=model, **LINKS)
    pairs = graph.edge_index[:, :40]
    for memory in ("1GiB", 1 << 30):
        assert np.array_equal(trained.predict(pairs=pairs), trained.predict(pairs=pairs, memory=memory))
        free, limited = trained.predict(node=[3, 5]), trained.predict(node=[3, 5], memory=memory)
        assert np.array_equal(free.ids, limited.ids) and np.array_equal(free.scores, limited.scores)
        assert np.array_equal(trained.embed().vectors, trained.embed(memory=memory).vectors)
        assert trained.evaluate(memory=memory) == trained.evaluate()
    if model == "smp-proximity":
        free, limited = (trained.predict_proba(pairs=pairs, prior=0.1, memory=memory) for memory in (None, "1GiB"))
        assert np.array_equal(free, limited)
    for answer in (lambda: trained.predict(pairs=pairs, memory="1MiB"), lambda: trained.embed(memory="1MiB")):
        with pytest.raises(nigh.InputError, match="this run takes .* at least"):
            answer()
    with pytest.raises(nigh.InputError, match="at least"):
        trained.evaluate(memory="1MiB")


@pytest.mark.parametrize("model", ["smp-linear", "smp-gated"])
def test_classes_within_a_limit_are_those_without(model: str) -> None:
    trained = nigh.train("communities", task="node-classification", model=model, **LINKS)
    assert np.array_equal(trained.predict_proba(), trained.predict_proba(memory="1GiB"))
    assert np.array_equal(trained.predict(nodes=[7, 3]), trained.predict(nodes=[7, 3], memory="1GiB"))
    with pytest.raises(nigh.InputError, match="at least"):
        trained.predict(memory="1MiB")


def test_comparisons_and_estimators_keep_to_a_limit(graph_file: Path) -> None:
    graph = nigh.Graph(str(graph_file))
    settings: dict[str, Any] = {"epochs": 3, "repeats": 2, "progress": False}
    free, limited = (nigh.compare(graph, ["smp-proximity", "gcn"], memory=memory, **settings) for memory in (None, "1GiB"))
    assert [(row["model"], row["tests"]) for row in free] == [(row["model"], row["tests"]) for row in limited]
    with pytest.raises(nigh.InputError, match="at least"):
        nigh.compare(graph, ["gcn"], memory="1MiB", **settings)
    embedders = [nigh.Embedder(graph, model="smp-linear", epochs=3, memory=memory).fit() for memory in (None, "1GiB")]
    assert np.array_equal(embedders[0].embedding_, embedders[1].embedding_)
    with pytest.raises(nigh.InputError, match="at least"):
        nigh.Embedder(graph, model="smp-linear", epochs=3, memory="1MiB").fit()


def test_a_certificate_within_a_limit_is_that_without(graph_file: Path) -> None:
    asked: dict[str, Any] = {"signal_dim": 40, "pairs": 50}
    expected = nigh.certify(str(graph_file), **asked)
    assert expected["num_pairs"] == 50 and expected["max_row_norm_is_exact"]
    for memory in ("1GiB", 1 << 30):
        assert nigh.certify(str(graph_file), memory=memory, **asked) == expected
    with pytest.raises(nigh.InputError, match="this run takes .* at least"):
        nigh.certify(str(graph_file), memory=1 << 20, **asked)
