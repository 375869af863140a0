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
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import nigh

pytest.importorskip("ray")
pytest.importorskip("fsspec")

import nigh.ray  # noqa: E402
from nigh import _nigh  # noqa: E402
from nigh.ray import _storage, _tasks, _workers  # noqa: E402
from ray_graphs import Graph, sha256  # noqa: E402


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
