"""`nigh.ray` with models: the folders, vectors and scores of the program, however the work is divided and whatever process is lost."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import nigh

pytest.importorskip("ray")
pytest.importorskip("fsspec")

import nigh.ray  # noqa: E402
from ray_graphs import NODES, Graph, folder_digest, sha256  # noqa: E402

SETTINGS: dict[str, Any] = {"task": "link-prediction", "pairs_per_epoch": 300, "epochs": 4, "repeats": 2, "signal_dim": 24}


@pytest.fixture(scope="module")
def model(graphs: dict[str, Graph], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What the program trains."""
    folder = tmp_path_factory.mktemp("models") / "model"
    flags = [text for name, value in SETTINGS.items() for text in (f"--{name.replace('_', '-')}", str(value))]
    graphs["names"].call("train", graphs["names"].stored, "--model", "smp-linear", *flags, "--out", folder)
    return folder


def test_a_model_and_its_vectors_are_those_of_the_program(
    graphs: dict[str, Graph], model: Path, tmp_path: Path, cluster: None
) -> None:
    graph, vectors = graphs["names"], tmp_path / "vectors.npy"
    graph.call("embed", model, graph.stored, "--out", vectors)
    expected = hashlib.sha256(np.load(vectors).tobytes()).hexdigest()
    options: dict[str, Any] = {"shards": 5, "slice_width": 16, "num_workers": 2, "progress": False}
    for mode in ("slices", "rows"):
        trained = nigh.ray.train(graph.stored, tmp_path / f"{mode}-model", model="smp-linear", mode=mode, **SETTINGS, **options)
        assert folder_digest(tmp_path / f"{mode}-model" / "model") == folder_digest(model), mode
        assert trained.graph == f"file://{graph.stored}"
        folder = tmp_path / f"{mode}-model" / "model"
        result = nigh.ray.embed(folder, graph.parts, tmp_path / f"{mode}-vectors", mode=mode, format="npy", **options)
        assert result.sha256 == expected, mode
    assert nigh.ray.embed(nigh.load(model), graph.stored, tmp_path / "again", **options).sha256 == expected


@pytest.mark.parametrize(
    ("kind", "form", "settings"),
    [
        ("names", "csv", {}),
        ("counted", "npy", {"model": "smp-mlp"}),
        ("weighted", "parquet", {"hop_storage": "float16", "repeats": 1}),
        ("holes", "csv", {"model": "smp-signal", "repeats": 1}),
    ],
)
def test_features_give_the_model_and_the_vectors_of_the_program(
    graphs: dict[str, Graph], tmp_path: Path, cluster: None, kills: Path, kind: str, form: str, settings: dict[str, Any]
) -> None:
    graph, features, folder = graphs[kind], graphs[kind].features(tmp_path / f"features.{form}"), tmp_path / "model"
    settings = {**SETTINGS, "model": "smp-linear", **settings}
    flags = [text for name, value in settings.items() for text in (f"--{name.replace('_', '-')}", str(value))]
    graph.call("train", graph.stored, "--features", features, *flags, "--out", folder)
    graph.call("embed", folder, graph.stored, "--features", features, "--out", tmp_path / "vectors.npy")
    vectors = np.load(tmp_path / "vectors.npy")
    expected = hashlib.sha256(vectors.tobytes()).hexdigest()
    assert kind == "counted" or len(vectors) == NODES, "also of nodes without an edge"
    # Slices of 16 columns: F has two.
    options: dict[str, Any] = {"shards": 5, "slice_width": 16, "progress": False, "features": features}
    for stage in ("feature-inputs", "features", "requests"):
        (kills / stage).touch()
    for mode, workers in (("slices", 2), ("rows", 2), ("slices", 1)):
        name = f"{mode}-{workers}"
        nigh.ray.train(graph.stored, tmp_path / name, mode=mode, num_workers=workers, **settings, **options)
        assert folder_digest(tmp_path / name / "model") == folder_digest(folder), name
        out = tmp_path / f"{name}-vectors"
        assert nigh.ray.embed(folder, graph.stored, out, mode=mode, num_workers=workers, **options).sha256 == expected, name
    assert os.listdir(kills) == [], "workers were lost in these stages"
    if form != "npy":
        options["features"] = graph.features(tmp_path / f"turned.{form}", turned=True)
        assert nigh.ray.embed(folder, graph.parts, tmp_path / "turned", num_workers=0, **options).sha256 == expected


@pytest.mark.parametrize(
    ("kind", "with_features", "settings"),
    [
        ("names", False, {"proximities": "estimated", "signal_dim": 40}),
        ("weighted", True, {"pairs_per_epoch": 500, "proximities": "estimated", "signal_dim": 24}),
        ("holes", True, {"repeats": 1}),
    ],
)
def test_the_default_model_for_links_is_that_of_the_program(
    graphs: dict[str, Graph], tmp_path: Path, cluster: None, kills: Path, kind: str, with_features: bool, settings: dict[str, Any]
) -> None:
    graph, folder, vectors, scores = graphs[kind], tmp_path / "model", tmp_path / "vectors.npy", tmp_path / "scores.csv"
    settings = {"epochs": 2, "repeats": 2, **settings}
    flags = [text for name, value in settings.items() for text in (f"--{name.replace('_', '-')}", str(value))]
    options: dict[str, Any] = {"shards": 3, "slice_width": 20, "progress": False}
    given: tuple[object, ...] = ()
    if with_features:
        options["features"] = graph.features(tmp_path / "features.csv")
        given = ("--features", options["features"])
    # Of nodes that have an edge whatever the kind of graph.
    pairs = tmp_path / "pairs.csv"
    Graph.write(pairs, ["source", "target"], [[graph.names[a], graph.names[b]] for a, b in [(0, 1), (2, 5), (1, 3), (5, 0)]])
    graph.call("train", graph.stored, *given, *flags, "--out", folder)
    assert 'model = "smp-proximity"' in (folder / "config.toml").read_text()
    graph.call("embed", folder, graph.stored, *given, "--out", vectors)
    graph.call("predict", folder, graph.stored, *given, "--pairs", pairs, "--out", scores)
    of_vectors = hashlib.sha256(np.load(vectors).tobytes()).hexdigest()
    hops = [f"level-{hop}" for hop in range(9)]
    for mode, workers in (("slices", 1), ("slices", 2), ("rows", 2), ("slices", 4), ("rows", 4)):
        name = f"{mode}-{workers}"
        if workers == 2:
            by_mode = ["levels"] if mode == "slices" else ["graph-blocks", "scales", *hops, "gathered"]
            for stage in ("requests", "graphs", *by_mode, "model"):
                (kills / stage).touch()
        options |= {"mode": mode, "num_workers": workers}
        trained = nigh.ray.train(graph.stored, tmp_path / name, **settings, **options)
        assert folder_digest(tmp_path / name / "model") == folder_digest(folder), name
        assert os.listdir(kills) == [], "every one of them was lost"
        assert {stage.name for stage in trained.stages} >= {"requests", "graphs", "model"}
        if workers == 2:
            embedded = nigh.ray.embed(folder, graph.stored, tmp_path / f"{name}-vectors", format="npy", **options)
            assert embedded.sha256 == of_vectors, name
            parts = [np.load(file.removeprefix("file://")) for file in embedded.files]
            assert len(parts) == 3 and np.array_equal(np.concatenate(parts), np.load(vectors))
            scored = nigh.ray.predict(folder, graph.stored, pairs, tmp_path / f"{name}-scores", format="csv", **options)
            assert Path(scored.files[0].removeprefix("file://")).read_bytes() == scores.read_bytes(), name


def test_scores_of_models_of_rows_are_those_of_the_program(graphs: dict[str, Graph], model: Path, tmp_path: Path) -> None:
    graph, pairs, scores = graphs["names"], tmp_path / "pairs.csv", tmp_path / "scores.parquet"
    Graph.write(pairs, ["source", "target"], [[graph.names[a], graph.names[b]] for a, b in [(0, 1), (2, 5), (1, 3)]])
    graph.call("predict", model, graph.stored, "--pairs", pairs, "--out", scores)
    options: dict[str, Any] = {"num_workers": 0, "progress": False, "shards": 3, "slice_width": 16}
    for mode in ("slices", "rows"):
        scored = nigh.ray.predict(model, graph.stored, pairs, tmp_path / mode, mode=mode, **options)
        assert Path(scored.files[0].removeprefix("file://")).read_bytes() == scores.read_bytes(), mode
    assert nigh.ray.predict(model, graph.stored, pairs, tmp_path / "rows", mode="rows", **options).sha256 == sha256(scores)
    with pytest.raises(nigh.InputError, match="scores can be parquet or csv"):
        nigh.ray.predict(model, graph.stored, pairs, tmp_path / "npy", format="npy", **options)
    with pytest.raises(nigh.InputError, match="vectors can be parquet or npy"):
        nigh.ray.embed(model, graph.stored, tmp_path / "csv", format="csv", **options)
    Graph.write(pairs, ["source", "target"], [["nowhere", graph.names[1]]])
    with pytest.raises(nigh.NighError, match="node `nowhere` is not in the graph"):
        nigh.ray.predict(model, graph.stored, pairs, tmp_path / "unknown", **options)


def test_features_that_do_not_fit_are_refused(graphs: dict[str, Graph], model: Path, tmp_path: Path) -> None:
    graph = graphs["names"]
    options: dict[str, Any] = {"num_workers": 0, "progress": False}
    settings = {**SETTINGS, **options, "model": "smp-linear"}
    features = graph.features(tmp_path / "features.csv")
    with pytest.raises(nigh.InputError, match="trained with 0 features per node, names.nigh has 20"):
        nigh.ray.embed(model, graph.stored, tmp_path / "a", features=features, **options)
    folder = tmp_path / "with"
    flags = ("--model", "smp-linear", "--epochs", 1, "--repeats", 1, "--out", folder)
    graph.call("train", graph.stored, "--features", features, *flags)
    with pytest.raises(nigh.InputError, match="trained with 20 features of each node; features=FILE has to give them"):
        nigh.ray.embed(folder, graph.stored, tmp_path / "b", **options)
    # Many columns, of which most are zero: multiplied first.
    wide = np.zeros((NODES, 2_000), np.float32)
    wide[np.arange(NODES), np.arange(NODES) % 2_000] = 1
    np.save(tmp_path / "wide.npy", wide)
    with pytest.raises(nigh.InputError, match="multiplied by a learnt weight before hops"):
        nigh.ray.train(graphs["counted"].stored, tmp_path / "c", features=tmp_path / "wide.npy", **settings)
    with pytest.raises(nigh.FileError, match="no such file"):
        nigh.ray.train(graph.stored, tmp_path / "d", features=tmp_path / "none.csv", **settings)
    (tmp_path / "several").mkdir()
    for name in ("a.csv", "b.csv"):
        (tmp_path / "several" / name).write_text("id,x\n1,2\n")
    with pytest.raises(nigh.InputError, match="has 2 files; features are expected in one"):
        nigh.ray.train(graph.stored, tmp_path / "e", features=tmp_path / "several", **settings)


def test_a_model_of_another_graph_is_refused(graphs: dict[str, Graph], model: Path, tmp_path: Path) -> None:
    with pytest.raises(nigh.InputError, match="has to be of th(is|e same) graph"):
        nigh.ray.embed(model, graphs["counted"].stored, tmp_path / "out", num_workers=0, progress=False)
    with pytest.raises(nigh.InputError, match="unknown setting `epoch`; did you mean `epochs`"):
        nigh.ray.train(graphs["names"].stored, tmp_path / "wrong", pairs_per_epoch=10, epoch=3)
    with pytest.raises(nigh.InputError, match="`model` is gcn, but it runs in memory: weights are learnt between its hops"):
        nigh.ray.train(graphs["names"].stored, tmp_path / "other", pairs_per_epoch=10, model="gcn", num_workers=0, progress=False)
