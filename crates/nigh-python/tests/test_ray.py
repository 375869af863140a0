"""`nigh.ray`: the bits of the program, however the work is divided and whatever process is lost."""

from __future__ import annotations

import hashlib
import json
import os
import secrets
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import nigh

pytest.importorskip("ray")
pytest.importorskip("fsspec")

import ray  # noqa: E402

import nigh.ray  # noqa: E402
from nigh import _nigh  # noqa: E402
from nigh.ray import _storage, _tasks, _workers  # noqa: E402

NODES, EDGES, PARTS = 1_500, 12_000, 3


def sha256(path: str | Path) -> str:
    return hashlib.sha256(Path(str(path).removeprefix("file://")).read_bytes()).hexdigest()


class Graph:
    """Edges with self loops, repetitions and holes in the ids, in one file and in parts; and what the program makes of them."""

    def __init__(self, folder: Path, program: Path, kind: str) -> None:
        draw = np.random.default_rng(len(kind))
        # Powers make hubs of the first.
        edges = (NODES * draw.random((EDGES, 2)) ** 2).astype(int)
        edges[::50, 1] = edges[::50, 0]
        edges[1::40] = edges[::40, ::-1]
        kinds: dict[str, list[Any]] = {
            "counted": list(range(NODES)),
            "holes": [7 * node - 100 for node in range(NODES)],
            "weighted": [3 * node for node in range(NODES)],
            "names": [f"{'äb.'[node % 3]}{node:x}" if node % 4 else node for node in range(NODES)],
        }
        names = kinds[kind]
        if kind == "counted":
            edges[:NODES, 0] = np.arange(NODES)
        rows = [[names[a], names[b]] for a, b in edges]
        header = ["source", "target"]
        if kind == "weighted":
            rows = [[*row, (1 + at % 9) / 4] for at, row in enumerate(rows)]
            header.append("weight")
        self.parts = folder / kind
        self.parts.mkdir()
        for part in range(PARTS):
            self.write(self.parts / f"{part}.{'parquet' if part == 1 else 'csv'}", header, rows[part::PARTS])
        (self.parts / "_SUCCESS").touch()
        whole, self.stored = folder / f"{kind}.csv", folder / f"{kind}.nigh"
        self.write(whole, header, rows)
        self.names, self.program = names, program
        self.call("data", "convert", whole, "--out", self.stored)

    @staticmethod
    def write(path: Path, header: list[str], rows: list[list[Any]]) -> None:
        if path.suffix == ".csv":
            path.write_text("\n".join(",".join(map(str, row)) for row in [header, *rows]) + "\n")
            return
        pandas = pytest.importorskip("pandas")
        frame = pandas.DataFrame(rows, columns=header)
        # A column has one type.
        if any(isinstance(value, str) for value in frame["source"]):
            frame = frame.astype({"source": str, "target": str})
        frame.to_parquet(path)

    def call(self, *arguments: object) -> None:
        subprocess.run([self.program, *map(str, arguments)], check=True, capture_output=True)

    def features(self, path: Path, turned: bool = False) -> Path:
        """A file of features of all nodes, also of those without an edge; `turned`, with columns in another order."""
        values = np.random.default_rng(5).random((NODES, 20)).astype(np.float32).round(3)
        if path.suffix == ".npy":
            np.save(path, values)
            return path
        rows = [[name, *map(float, row)] for name, row in zip(self.names, values, strict=True)]
        header = ["id", *(f"f{column}" for column in range(20))]
        if turned:
            header, rows = [header[0], *header[:0:-1]], [[row[0], *row[:0:-1]] for row in rows]
        if path.suffix == ".csv":
            self.write(path, header, rows)
        else:
            pytest.importorskip("pandas").DataFrame(rows, columns=header).to_parquet(path)
        return path

    def vectors(self, *options: str) -> str:
        """The digest of what `nigh propagate` writes."""
        out = self.stored.with_suffix(".npy")
        self.call("propagate", self.stored, "--out", out, "--signal-dim", "24", *options)
        return hashlib.sha256(np.load(out).tobytes()).hexdigest()


@pytest.fixture(scope="module")
def graphs(tmp_path_factory: pytest.TempPathFactory, program: Path) -> dict[str, Graph]:
    folder = tmp_path_factory.mktemp("graphs")
    return {kind: Graph(folder, program, kind) for kind in ("counted", "holes", "weighted", "names")}


@pytest.fixture(scope="module")
def kills(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("kills")


@pytest.fixture(scope="module")
def cluster(kills: Path, ray_token: str) -> Iterator[None]:
    """Ray with room for four workers, as `nigh.ray` starts it."""
    with pytest.MonkeyPatch.context() as patch:
        # A token of these tests alone, and not in a file of the user.
        patch.setenv("RAY_AUTH_TOKEN", ray_token)
        patch.delenv("RAY_AUTH_MODE", raising=False)
        patch.setenv("NIGH_RAY_KILL", str(kills))
        _workers.start(ray, 4)
        yield
        ray.shutdown()


def propagate(source: object, out: object, **options: Any) -> nigh.ray.Result:
    defaults: dict[str, Any] = {
        "signal_dim": 24, "shards": 5, "slice_width": 16, "num_workers": 2, "progress": False, "format": "npy",
    }  # fmt: skip
    return nigh.ray.propagate(str(source), str(out), **{**defaults, **options})


def test_the_graph_file_has_the_bytes_of_the_program(graphs: dict[str, Graph], tmp_path: Path, cluster: None) -> None:
    for kind, graph in graphs.items():
        result = propagate(graph.parts, tmp_path / kind)
        assert result.graph is not None
        assert sha256(result.graph) == sha256(graph.stored), kind
        assert result.sha256 == graph.vectors(), kind


def test_every_way_has_the_bits_of_the_program(graphs: dict[str, Graph], tmp_path: Path, cluster: None) -> None:
    for kind, options in (("names", {}), ("weighted", {"hop_storage": "float16", "hops": 3})):
        graph = graphs[kind]
        flags = [text for name, value in options.items() for text in (f"--{name.replace('_', '-')}", str(value))]
        expected = graph.vectors(*flags)
        # In panels and out of core, the program itself.
        assert graph.vectors(*flags, "--memory", "165MiB") == expected
        for number, (source, mode, workers, form) in enumerate([
            (graph.stored, "slices", 1, "npy"), (graph.stored, "rows", 2, "parquet"), (graph.parts, "slices", 4, "parquet"),
            (graph.parts, "rows", 1, "npy"), (graph.stored, "rows", 4, "npy"), (graph.stored, "slices", 0, "npy"),
        ]):  # fmt: skip
            out = tmp_path / f"{kind}-{number}"
            result = propagate(source, out, mode=mode, num_workers=workers, format=form, **options)
            assert (result.sha256, result.mode) == (expected, mode), (kind, source, mode, workers, form)
            assert (result.graph is None) == (mode == "rows" and source == graph.parts)
            assert not (out / "work").exists()
            assert all(stage.peak > stage.added >= 0 for stage in result.stages)


def test_parts_have_the_ids_and_rows_of_the_program(graphs: dict[str, Graph], tmp_path: Path, cluster: None) -> None:
    pandas = pytest.importorskip("pandas")
    for kind, mode in (("names", "rows"), ("holes", "slices")):
        graph = graphs[kind]
        graph.vectors()
        expected = np.load(graph.stored.with_suffix(".npy"))
        ids = Path(f"{graph.stored.with_suffix('.npy')}.ids.txt").read_text().split("\n")[:-1]
        written = propagate(graph.parts, tmp_path / f"{kind}-npy", mode=mode)
        paths = [file.removeprefix("file://") for file in written.files]
        assert np.array_equal(np.concatenate([np.load(path) for path in paths]), expected)
        assert "".join(Path(f"{path}.ids.txt").read_text() for path in paths).split("\n")[:-1] == ids
        written = propagate(graph.parts, tmp_path / f"{kind}-parquet", mode=mode, format="parquet")
        frame = pandas.concat([pandas.read_parquet(path) for path in written.files])
        assert list(frame["id"].astype(str)) == ids
        assert np.array_equal(frame.drop(columns="id").to_numpy(), expected)


SETTINGS: dict[str, Any] = {"task": "link-prediction", "pairs_per_epoch": 300, "epochs": 4, "repeats": 2, "signal_dim": 24}


def folder_digest(folder: Path) -> dict[str, str]:
    return {path.name: sha256(path) for path in folder.iterdir()}


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
    with pytest.raises(nigh.InputError, match="`pairs_per_epoch` is"):
        nigh.ray.train(graphs["names"].stored, tmp_path / "other", pairs_per_epoch=10, model="gcn", num_workers=0, progress=False)


def test_halves_that_overflow_are_computed_in_single_precision(
    graphs: dict[str, Graph], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    native = nigh._nigh.run_task

    def enlarged(task: str, *others: Any) -> str:
        facts = json.loads(native(task, *others))
        return json.dumps({name: value * 2**20 if name == "scale" else value for name, value in facts.items()})

    monkeypatch.setattr(nigh._nigh, "run_task", enlarged)
    for mode in ("slices", "rows"):
        result = propagate(graphs["names"].stored, tmp_path / mode, mode=mode, num_workers=0, hop_storage="float16")
        assert result.sha256 == graphs["names"].vectors()
        assert any(stage.name.endswith("-float32") for stage in result.stages)


def test_all_slices_have_the_smallest_scale_of_all_rows(
    graphs: dict[str, Graph], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    native, scales = nigh._nigh.run_task, set()

    def task(description: str, *others: Any) -> str:
        what, facts = json.loads(description), json.loads(native(description, *others))
        if "hops" in what:
            scales.add(what["hops"]["scale"])
        # The later the rows, the larger their entries seem to be.
        return json.dumps({**facts, "scale": 2.0 ** -(what["rows"][0] // 300)} if "scale" in facts else facts)

    monkeypatch.setattr(nigh._nigh, "run_task", task)
    for mode in ("slices", "rows"):
        propagate(graphs["names"].stored, tmp_path / mode, mode=mode, num_workers=0, hop_storage="float16")
    assert scales == {2.0**-4}


def test_workers_that_are_lost_in_every_stage_change_nothing(
    graphs: dict[str, Graph], tmp_path: Path, cluster: None, kills: Path
) -> None:
    graph = graphs["names"]
    before = ["inputs", "ids", "numbers", "entries", "blocks"]
    for mode, stages in (("slices", ["graph", "slices"]), ("rows", ["hop-0", "hop-1", "hop-2"])):
        stages = [*before, *stages, "rows"]
        for stage in stages:
            (kills / stage).touch()
        result = propagate(graph.parts, tmp_path / mode, mode=mode)
        assert os.listdir(kills) == [], "every one of them was lost"
        assert [stage.name for stage in result.stages] == stages
        assert result.sha256 == graph.vectors()


def test_a_worker_that_is_lost_too_often_is_an_error_and_the_rest_stays(
    graphs: dict[str, Graph], tmp_path: Path, cluster: None, kills: Path
) -> None:
    (kills / "slices").touch()
    with pytest.raises(nigh.NighError, match="lost 1 times in task .* of stage `slices`"):
        propagate(graphs["names"].stored, tmp_path / "out", max_retries=0)
    assert not list((tmp_path / "out").glob("part-*"))
    result = propagate(graphs["names"].stored, tmp_path / "out", max_retries=0)
    assert result.sha256 == graphs["names"].vectors()
    assert {stage.name: stage.done for stage in result.stages}["check"] == 0, "it was complete"


def test_a_driver_that_was_killed_goes_on_where_it_was(graphs: dict[str, Graph], tmp_path: Path) -> None:
    out = tmp_path / "out"
    command = [
        sys.executable, "-m", "nigh.ray", "propagate", str(graphs["names"].parts), "--out", str(out), "--mode", "rows",
        "--signal-dim", "24", "--slice-width", "8", "--shards", "8", "--format", "npy", "--keep-files", "--num-workers", "2",
    ]  # fmt: skip
    environment = {**os.environ, "RAY_AUTH_TOKEN": secrets.token_hex(32)}
    driver = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment, start_new_session=True)
    deadline = time.monotonic() + 120
    while len(list(out.glob("work/hop-1/*.json"))) < 5:
        assert driver.poll() is None and time.monotonic() < deadline, driver.communicate()
        time.sleep(0.01)
    os.kill(driver.pid, signal.SIGKILL)
    driver.wait()
    time.sleep(1)
    complete = {path: path.stat().st_mtime_ns for path in out.glob("work/*/*.json")}
    assert not (out / "result.json").exists()
    done = subprocess.run(command, capture_output=True, env=environment, text=True, check=True)
    result = json.loads(done.stdout.splitlines()[-1])
    assert result["sha256"] == graphs["names"].vectors()
    assert complete == {path: path.stat().st_mtime_ns for path in complete}, "what was complete was not done again"
    done_now = {stage["name"]: stage["done"] for stage in result["stages"]}
    assert done_now["ids"] == done_now["blocks"] == done_now["hop-0"] == 0 and done_now["hop-2"] > 0
    assert "hop-0: 24 tasks, of which 24 are complete" in done.stderr
    again = subprocess.run([*command, "--num-workers", "0"], capture_output=True, text=True, check=True)
    assert json.loads(again.stdout)["sha256"] == result["sha256"]


SEVERAL_NODES = """
import json, os, sys, psutil, ray
from ray.cluster_utils import Cluster
import nigh.ray

cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 1, "include_dashboard": False})
cluster.add_node(num_cpus=1)
cluster.wait_for_nodes()
ray.init(address=cluster.address, log_to_driver=False, logging_level="ERROR")
assert len(ray.nodes()) == 2
found = [nigh.ray.propagate(sys.argv[1], f"{sys.argv[2]}/{mode}", mode=mode, signal_dim=24, shards=5, format="npy", progress=False).sha256
         for mode in ("slices", "rows")]
print(json.dumps(found))
ray.shutdown()
cluster.shutdown()
"""


def test_several_nodes_have_the_bits_of_one(graphs: dict[str, Graph], tmp_path: Path) -> None:
    # Several nodes on the loopback of this machine, with a token of their own.
    loopback = {"RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0"}
    environment = {**os.environ, "RAY_AUTH_TOKEN": secrets.token_hex(32), "RAY_AUTH_MODE": "token", **loopback}
    command = [sys.executable, "-c", SEVERAL_NODES, str(graphs["weighted"].parts), str(tmp_path)]
    done = subprocess.run(command, capture_output=True, env=environment, text=True, check=False, timeout=120)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout.splitlines()[-1]) == [graphs["weighted"].vectors()] * 2


LOOPBACK_ALONE = """
import fcntl, json, socket, struct, sys
import nigh.ray

assert [name for _, name in socket.if_nameindex()] == ["lo"], "a network of its own"
with socket.socket() as any_socket:
    # SIOCSIFFLAGS: up, loopback, running.
    fcntl.ioctl(any_socket, 0x8914, struct.pack("16sH14x", b"lo", 0x49))
found = nigh.ray.propagate(sys.argv[1], sys.argv[2], num_workers=2, signal_dim=24, shards=5, format="npy", progress=False)
print(json.dumps(found.sha256))
"""


def test_a_network_of_loopback_alone_is_enough(graphs: dict[str, Graph], tmp_path: Path) -> None:
    namespace = ["unshare", "--net", "--map-root-user"]
    try:
        subprocess.run([*namespace, "true"], check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError) as error:
        pytest.skip(f"no network namespace can be had here: {error}")
    environment = {**os.environ, "RAY_AUTH_TOKEN": secrets.token_hex(32)}
    command = [*namespace, sys.executable, "-c", LOOPBACK_ALONE, str(graphs["holes"].parts), str(tmp_path / "out")]
    done = subprocess.run(command, capture_output=True, env=environment, text=True, check=False, timeout=120)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout.splitlines()[-1]) == graphs["holes"].vectors()


def test_no_port_is_open_beyond_this_machine_and_tokens_are_asked_for(cluster: None) -> None:
    psutil = pytest.importorskip("psutil")
    family = [psutil.Process(), *psutil.Process().children(recursive=True)]
    listening = [each.laddr for process in family for each in process.net_connections("inet") if each.status == "LISTEN"]
    assert listening, "Ray listens for its own workers"
    assert {address.ip for address in listening} <= {"127.0.0.1", "::1", "::ffff:127.0.0.1"}
    engine = pytest.importorskip("ray._raylet")
    assert engine.get_authentication_mode() == engine.AuthenticationMode.TOKEN


def test_other_file_systems_are_read_and_written_through_copies(graphs: dict[str, Graph], tmp_path: Path) -> None:
    import fsspec

    graph, files = graphs["names"], fsspec.filesystem("memory")
    for path in graph.parts.glob("[0-9]*"):
        files.pipe_file(f"/edges/{path.name}", path.read_bytes())
    for mode in ("slices", "rows"):
        cache = tmp_path / f"cache-{mode}"
        result = propagate("memory://edges/*", f"memory://{mode}", mode=mode, num_workers=0, cache=cache)
        assert result.sha256 == graph.vectors()
        assert all(file.startswith(f"memory:///{mode}/part-") for file in result.files)
        parts = [np.load(files.open(file)) for file in result.files]
        assert hashlib.sha256(np.concatenate(parts).tobytes()).hexdigest() == result.sha256
        assert not any("partial" in path for path in files.find(f"/{mode}"))
        # Copies are by content, and complete.
        copies = [path for path in cache.rglob("*") if path.is_file()]
        assert copies and all(_nigh.file_digest(path) == path.parent.name for path in copies)
    result = propagate(f"file://{graph.parts}", f"file://{tmp_path}/out", num_workers=0)
    assert result.sha256 == graph.vectors() and (tmp_path / "out" / "graph.nigh").exists()


def test_a_file_that_changes_while_it_is_in_use_is_noticed(tmp_path: Path) -> None:
    import fsspec

    files = fsspec.filesystem("memory")
    files.pipe_file("/changing", b"one")
    storage = _storage.Storage(cache=str(tmp_path / "one"))
    known = storage.examine("memory://changing")
    files.pipe_file("/changing", b"two")
    assert storage.local(known).read_bytes() == b"one", "of the first copy"
    with pytest.raises(nigh.FileError, match="changed while it was in use"):
        _storage.Storage(cache=str(tmp_path / "two")).local(known)


def test_what_a_task_left_behind_counts_while_it_is_whole_and_nothing_it_depends_on_changed(tmp_path: Path) -> None:
    storage, edges = _storage.Storage(), tmp_path / "edges.csv"
    edges.write_text("0,1\n1,2\n")
    out = _storage.Folder.at(tmp_path / "out", storage)
    columns = {"source": None, "target": None, "weight": None}

    def task(part: str = "00000.part", **changed: Any) -> _tasks.Task:
        what = {"do": "read-edges", **columns, **changed}
        return _tasks.Task("ids", "00000", what, (storage.examine(str(edges)),), (f"work/ids/{part}",))

    assert _tasks.find(task(), out) is None
    done = _tasks.perform(task(), out, 1)
    assert _tasks.find(task(), out) == done
    assert _tasks.find(task(weight="none"), out) is None and _tasks.find(task("other.part"), out) is None
    part = tmp_path / "out" / "work" / "ids" / "00000.part"
    content = part.read_bytes()
    part.write_bytes(content[:-1])
    assert _tasks.find(task(), out) is None, "a file is not whole"
    part.unlink()
    assert _tasks.find(task(), out) is None, "a file is gone"
    part.write_bytes(content)
    assert _tasks.find(task(), out) == done
    edges.write_text("0,1\n1,3\n")
    assert _tasks.find(task(), out) is None, "other edges"


def test_a_folder_is_of_one_run(graphs: dict[str, Graph], tmp_path: Path) -> None:
    source, out = tmp_path / "edges.csv", tmp_path / "out"
    source.write_text("a,b\nb,c\n")
    first = propagate(source, out, num_workers=0, shards=2)
    assert propagate(source, out, num_workers=0, shards=2).sha256 == first.sha256, "nothing is left to do"
    with pytest.raises(nigh.InputError, match="has a run with `format` 'npy', and not 'parquet'"):
        propagate(source, out, num_workers=0, shards=2, format="parquet")
    part = Path(first.files[0].removeprefix("file://"))
    part.unlink()
    assert propagate(source, out, num_workers=0, shards=2).sha256 == first.sha256 and part.exists(), "what is gone is made again"
    with pytest.raises(nigh.InputError, match="has a run with `seed` 1, and not 2; take another folder"):
        propagate(source, out, num_workers=0, shards=2, seed=2)
    source.write_text("a,b\nb,c\nc,d\n")
    with pytest.raises(nigh.InputError, match="has a run with `source`"):
        propagate(source, out, num_workers=0, shards=2)


def test_mode_follows_from_memory(graphs: dict[str, Graph], tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    source = graphs["names"].stored
    assert propagate(source, tmp_path / "much", num_workers=0, memory="8GiB", progress=True).mode == "slices"
    assert "mode: slices; a worker takes" in capfd.readouterr().err
    exact = json.dumps({"num_nodes": 1_500_000, "num_edges": 12_000_000, "weighted": False})
    slices, rows = nigh._nigh.worker_memory(exact, json.dumps({"hops": 2, "storage": "float32", "scale": None}), 16, 100_000)
    assert slices > rows > (256 << 20) + 1_500_000 * 64
    with pytest.raises(nigh.InputError, match="`memory` is 10 MiB, but a worker takes .* by rows"):
        propagate(source, tmp_path / "little", num_workers=0, memory="10MiB")


def test_what_is_wrong_is_said(graphs: dict[str, Graph], tmp_path: Path) -> None:
    def problem(source: object, **options: Any) -> str:
        with pytest.raises(nigh.NighError) as raised:
            propagate(source, tmp_path / secrets.token_hex(4), num_workers=0, **options)
        return str(raised.value)

    assert "there is no such file" in problem(tmp_path / "none.csv")
    assert "`mode` is 'columns', but it can be auto, slices or rows" in problem(graphs["names"].parts, mode="columns")
    assert "`signal_dim` is 0, but expected a whole number from 1" in problem(graphs["names"].parts, signal_dim=0)
    assert "`memory` is \"8 pounds\", but expected a size" in problem(graphs["names"].parts, memory="8 pounds")
    assert "unknown signal" in problem(graphs["names"].parts, signal="loud")
    assert "is a graph file" in problem(graphs["names"].stored, weight="w")

    def folder(**files: str) -> Path:
        folder = tmp_path / secrets.token_hex(4)
        folder.mkdir()
        for name, text in files.items():
            (folder / f"{name}.csv").write_text(text)
        return folder

    assert "b.csv:2: " in problem(folder(a="1,2\n2,3\n", b="1,2\n2\n"))
    assert "has weights, but" in problem(folder(a="source,target,weight\n1,2,3\n", b="source,target\n1,2\n"))
    assert "write ids in one way" in problem(folder(a="7.0,8.0\n", b="x,y\n"))
    assert "is an id beside names as well" in problem(folder(a="7.0,x\n", b="7,y\n"))
    assert "no edge between two different nodes" in problem(folder(a="1,1\n", b="2,2\n"))
    damaged = tmp_path / "damaged.nigh"
    damaged.write_bytes(graphs["names"].stored.read_bytes()[:-1] + b"x")
    assert "is damaged" in problem(damaged)


def test_without_ray_the_message_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(ImportError, match=r"pip install 'nigh\[ray\]'"):
        _workers.import_ray()


def test_importing_it_imports_neither_ray_nor_fsspec() -> None:
    script = "import sys, nigh.ray; print('ray' in sys.modules, 'fsspec' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["False", "False"]
