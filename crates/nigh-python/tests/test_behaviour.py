"""The manners of a guest in Python's process: threads, Ctrl-C, callbacks, forks, pickles, memory, and the program's bytes."""

from __future__ import annotations

import copy
import io
import os
import pickle
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import nigh

Array = np.ndarray[Any, Any]


def fit(graph: Any, **settings: Any) -> nigh.Model:
    return nigh.train(graph, **{"model": "smp-linear", "epochs": 10, "repeats": 1, "progress": False, **settings})


def files(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir())}


def saved(model: nigh.Model, folder: Path) -> dict[str, bytes]:
    model.save(folder)
    return files(folder)


# Threads and Ctrl-C ---------------------------------------------------------------------------------------------------


def test_other_threads_of_python_keep_running_during_training(communities: nigh.Graph) -> None:
    ticks: list[float] = []
    done = threading.Event()

    def tick() -> None:
        while not done.is_set():
            ticks.append(time.monotonic())
            time.sleep(0.001)

    thread = threading.Thread(target=tick)
    thread.start()
    began = time.monotonic()
    try:
        fit(communities, epochs=2000, evaluate_every=100)
    finally:
        ended = time.monotonic()
        done.set()
        thread.join()
    during = [at for at in ticks if began <= at <= ended]
    longest = float(np.diff([began, *during, ended]).max())
    assert longest < 0.5 * (ended - began), f"the lock was held for {longest:.2f} of {ended - began:.2f} s"
    assert len(during) > 20


def test_one_model_serves_several_threads_of_python(communities: nigh.Graph) -> None:
    model = fit(communities)
    expected = np.asarray(model.embed())
    found: list[Array] = []
    threads = [threading.Thread(target=lambda: found.append(np.asarray(model.embed()))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 4 and all(np.array_equal(vectors, expected) for vectors in found)


#: A program that is interrupted in its work, and prints when the interrupt reached it.
INTERRUPTED = """
import signal, time, warnings
import numpy as np
import nigh

# Where tests run in the background, a shell has Ctrl-C ignored.
signal.signal(signal.SIGINT, signal.default_int_handler)
warnings.simplefilter("ignore")
edges = np.random.default_rng(1).integers(0, 200_000, (1_000_000, 2))

def began(now=None):
    if now is None or now.epoch == 1:
        print("began", flush=True)

{prepare}
try:
    {work}
except KeyboardInterrupt:
    print(time.monotonic(), flush=True)
"""


def seconds_until_interrupted(prepare: str, work: str, folder: Path) -> float:
    code = INTERRUPTED.format(prepare=prepare, work=work)
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True, cwd=folder) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "began\n"
        time.sleep(0.3)
        sent = time.monotonic()
        process.send_signal(signal.SIGINT)
        answer = process.stdout.read().strip()
    assert process.returncode == 0
    return float(answer) - sent


#: What comes before, and the work. Reading and building take less than the delay on a fast machine, so that they are repeated.
STAGES = {
    "reading": (
        """def again():
    while True: nigh.Graph("edges.csv")
open("edges.csv", "w").write("".join(f"{a},{b}\\n" for a, b in edges.tolist())); began()""",
        "again()",
    ),
    # In a function: CPython 3.11 does not catch what interrupts the jump of a loop that ends a `try`.
    "building": ("def again():\n    while True: nigh.Graph(edges)\nbegan()", "again()"),
    "set-up": ("graph = nigh.Graph(edges); began()", "nigh.train(graph, repeats=1, epochs=1, progress=False)"),
    "epochs": (
        "graph = nigh.Graph(edges)",
        """nigh.train(graph, model="smp-linear", repeats=1, progress=False, callback=began)""",
    ),
}


@pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")
@pytest.mark.parametrize("stage", STAGES)
def test_ctrl_c_answers_within_a_second(stage: str, tmp_path: Path) -> None:
    # Other programs may keep the machine busy for longer than that: the best of three.
    waited = [seconds_until_interrupted(*STAGES[stage], tmp_path)]
    while min(waited) > 1 and len(waited) < 3:
        waited.append(seconds_until_interrupted(*STAGES[stage], tmp_path))
    assert min(waited) < 1, waited


# Callbacks and progress -----------------------------------------------------------------------------------------------


def test_a_callback_sees_every_epoch(communities: nigh.Graph) -> None:
    seen: list[nigh.Progress] = []
    fit(communities, epochs=7, repeats=2, callback=seen.append)
    assert [(now.repeat, now.epoch) for now in seen] == [(repeat, epoch) for repeat in range(2) for epoch in range(1, 8)]
    assert all((now.repeats, now.epochs) == (2, 7) and np.isfinite(now.loss) for now in seen)
    assert any(now.valid is not None and 0 <= now.valid <= 1 for now in seen)


def test_a_callback_that_returns_true_stops_and_keeps_the_best_epoch(communities: nigh.Graph) -> None:
    model = fit(communities, epochs=100, evaluate_every=1, callback=lambda now: now.epoch == 5)
    assert model.curve["epoch"].max() == 5
    assert len(model.embed()) == communities.num_nodes


def test_a_callback_that_returns_something_else_does_not_stop(communities: nigh.Graph) -> None:
    seen: list[int] = []

    def callback(now: nigh.Progress) -> str:
        seen.append(now.epoch)
        return "yes"

    fit(communities, epochs=4, callback=callback)
    assert seen == [1, 2, 3, 4]


def test_an_exception_of_a_callback_ends_the_call_and_harms_nothing(communities: nigh.Graph, tmp_path: Path) -> None:
    class OwnError(Exception):
        pass

    def callback(now: nigh.Progress) -> None:
        if now.epoch == 2:
            raise OwnError("enough")

    with pytest.raises(OwnError, match="enough"):
        fit(communities, callback=callback)
    assert saved(fit(communities), tmp_path / "a") == saved(fit(communities), tmp_path / "b")


def test_a_callback_changes_no_bit_of_the_model(communities: nigh.Graph, tmp_path: Path) -> None:
    watched = fit(communities, callback=lambda now: None)
    assert saved(watched, tmp_path / "watched") == saved(fit(communities), tmp_path / "alone")


def test_training_within_a_callback_works(communities: nigh.Graph) -> None:
    inner: list[nigh.Model] = []
    fit(communities, epochs=2, callback=lambda now: inner.append(fit(communities, epochs=1)))
    assert len(inner) == 2


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_progress_is_a_bar_of_tqdm_where_it_is_installed(communities: nigh.Graph, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("tqdm")
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    fit(communities, epochs=300, repeats=20, progress=True)
    assert "%|" in terminal.getvalue() and "epoch" in terminal.getvalue()


def test_progress_is_a_plain_line_without_tqdm(communities: nigh.Graph, monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setitem(sys.modules, "tqdm.auto", None)
    fit(communities, epochs=300, repeats=20, progress=True)
    text = terminal.getvalue()
    assert "/20, epoch" in text and "%|" not in text
    assert text.endswith("\r") and text.rsplit("\r", 2)[1].strip() == "", "the line is cleared"


def test_progress_is_silent_where_nobody_looks(communities: nigh.Graph, capfd: pytest.CaptureFixture[str]) -> None:
    fit(communities, progress=True)
    nigh.compare(communities, ["smp-linear", "katz"], epochs=2, repeats=2)
    out, err = capfd.readouterr()
    assert (out, err) == ("", "")


# Forks and other processes --------------------------------------------------------------------------------------------

PRELUDE = """
import os, sys, warnings
import numpy as np
import nigh
warnings.simplefilter("ignore")

def vectors(seed):
    model = nigh.train(nigh.Graph("communities"), model="smp-linear", epochs=5, repeats=1, seed=seed, progress=False)
    return np.asarray(model.embed()).tobytes()
"""

FORKS = {
    "os.fork": """
        before = vectors(1)
        read, write = os.pipe()
        child = os.fork()
        if child == 0:
            os.write(write, vectors(1)[:1000])
            os._exit(0)
        assert os.read(read, 1000) == before[:1000]
        assert os.waitpid(child, 0)[1] == 0
        assert vectors(1) == before
    """,
    "multiprocessing by fork": """
        import multiprocessing
        before = vectors(1)
        with multiprocessing.get_context("fork").Pool(2) as pool:
            assert pool.map(vectors, [1, 2, 1])[::2] == [before, before]
    """,
    "a fork of a fork": """
        before = vectors(1)
        def child(depth):
            if depth and vectors(1) == before:
                forked = os.fork()
                if forked == 0:
                    os._exit(child(depth - 1))
                return os.waitstatus_to_exitcode(os.waitpid(forked, 0)[1])
            return 0 if depth == 0 else 1
        assert child(2) == 0
    """,
    "multiprocessing by spawn": """
        import multiprocessing
        before = vectors(1)
        with multiprocessing.get_context("spawn").Pool(2) as pool:
            assert pool.map(vectors, [1, 2, 1])[::2] == [before, before]
    """,
    "loky": """
        import joblib
        before = vectors(1)
        assert joblib.Parallel(n_jobs=2)(joblib.delayed(vectors)(seed) for seed in (1, 2, 1))[::2] == [before, before]
    """,
    "threads of joblib": """
        import joblib
        before = vectors(1)
        jobs = (joblib.delayed(vectors)(seed) for seed in (1, 2, 1))
        assert joblib.Parallel(n_jobs=2, backend="threading")(jobs)[::2] == [before, before]
    """,
}


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
@pytest.mark.parametrize("kind", FORKS)
def test_training_works_before_and_after_a_fork(kind: str, tmp_path: Path) -> None:
    if kind in ("loky", "threads of joblib"):
        pytest.importorskip("joblib")
    lines = "\n".join(line[4:] for line in FORKS[kind].splitlines())
    script = tmp_path / "own.py"
    script.write_text(f"{PRELUDE}\nif __name__ == '__main__':\n{lines}\n    print('done')\n")
    # A pool of threads that the fork lost would wait for ever.
    found = subprocess.run([sys.executable, script], capture_output=True, text=True, timeout=120, check=False)
    assert (found.returncode, found.stdout) == (0, "done\n"), found.stderr


# The same bytes -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("model", ["smp-linear", "smp-proximity", "gcn"])
def test_the_number_of_threads_changes_no_byte(model: str, communities: nigh.Graph, tmp_path: Path) -> None:
    alone = fit(communities, model=model, epochs=3, threads=1)
    assert saved(alone, tmp_path / "1") == saved(fit(communities, model=model, epochs=3, threads=2), tmp_path / "2")
    assert np.array_equal(np.asarray(alone.embed(threads=1)), np.asarray(alone.embed(threads=3)))


@pytest.mark.parametrize("labels", [False, True])
def test_the_folder_is_that_of_the_program(labels: bool, program: Path, tmp_path: Path) -> None:
    edges = tmp_path / "edges.csv"
    pairs = np.random.default_rng(3).integers(0, 60, (300, 2))
    edges.write_text("".join(f"n{a},n{b}\n" for a, b in pairs.tolist()))
    given: dict[str, Any] = {"model": "smp-linear"}
    if labels:
        (tmp_path / "labels.csv").write_text("".join(f"n{node},{node % 3}\n" for node in sorted(set(pairs.ravel().tolist()))))
        given = {"task": "node-classification", "model": "gcn", "train_per_class": 5}
    options = [part for name, value in given.items() for part in (f"--{name.replace('_', '-')}", str(value))]
    options += ["--labels", str(tmp_path / "labels.csv")] if labels else []
    options += ["--epochs", "6", "--repeats", "2", "--seed", "5", "--out", str(tmp_path / "theirs")]
    subprocess.run([str(program), "train", str(edges), *options], check=True, capture_output=True)
    graph = nigh.Graph(edges, labels=tmp_path / "labels.csv" if labels else None)
    ours = saved(nigh.train(graph, epochs=6, repeats=2, seed=5, progress=False, **given), tmp_path / "ours")
    theirs = files(tmp_path / "theirs")
    assert list(ours) == list(theirs)
    assert [name for name in ours if ours[name] != theirs[name]] == []


# Pickles and copies ---------------------------------------------------------------------------------------------------


def everything(graph: nigh.Graph) -> list[Any]:
    """All that is known of a graph, for comparison."""
    listed = [graph.name, graph.digest, list(graph.ids), graph.class_names, graph.feature_names, graph.edge_index.tolist()]
    arrays = [graph.labels, graph._native.weights()]
    features = graph._native.features()
    parts = features if isinstance(features, tuple) else (features,)
    return listed + [np.asarray(array).tolist() for array in (*arrays, *parts)]


def graphs() -> dict[str, nigh.Graph]:
    edges = [(0, 1), (1, 2), (2, 3), (3, 0), (3, 4)]
    names = [(f"n{a}", f"n{b}") for a, b in edges]
    rows = {f"n{node}": [node, 2 * node] for node in range(5)}
    return {
        "plain": nigh.Graph(edges),
        "texts": nigh.Graph(names, name="own"),
        "texts of digits": nigh.Graph([(str(a), str(b)) for a, b in edges]),
        "weights": nigh.Graph(edges, weight=[1, 2, 3, 4, 0.5]),
        "features": nigh.Graph(names, features=rows, labels={"n0": "a", "n1": "b", "n4": "a"}),
        "sparse": nigh.Graph(edges, features=sparse_rows(), labels=[[1, 2], [], [2], [1], [3]]),
        "alone": nigh.Graph(edges, nodes=[9, 0, 1, 2, 3, 4]),
        "named": nigh.Graph("communities"),
    }


def sparse_rows() -> Any:
    return pytest.importorskip("scipy.sparse").csr_matrix(np.diag([1.0, 0, 2, 0, 3]))


@pytest.mark.parametrize("kind", ["plain", "texts", "texts of digits", "weights", "features", "sparse", "alone", "named"])
def test_a_graph_survives_pickle_and_copy(kind: str) -> None:
    graph = graphs()[kind]
    for again in (pickle.loads(pickle.dumps(graph)), copy.deepcopy(graph), copy.copy(graph)):
        assert everything(again) == everything(graph)


@pytest.mark.parametrize("task", ["link-prediction", "node-classification"])
def test_a_model_survives_pickle_and_copy_to_the_byte(task: str, communities: nigh.Graph, tmp_path: Path) -> None:
    model = fit(communities, task=task)
    expected = saved(model, tmp_path / "model")
    assert saved(nigh.load(tmp_path / "model"), tmp_path / "loaded") == expected
    for number, again in enumerate((pickle.loads(pickle.dumps(model)), copy.deepcopy(model), copy.copy(model))):
        assert saved(again, tmp_path / str(number)) == expected
        assert np.array_equal(np.asarray(again.embed()), np.asarray(model.embed()))
        # Times are not kept in the folder.
        assert {**again.summary, "millis_per_epoch": None} == {**model.summary, "millis_per_epoch": None}


def test_vectors_are_handed_out_without_a_copy_and_outlive_their_model(communities: nigh.Graph) -> None:
    model = fit(communities)
    embedding = model.embed()
    vectors = np.asarray(embedding)
    assert np.shares_memory(vectors, np.asarray(embedding)) and not vectors.flags.writeable
    expected = vectors.copy()
    del model, embedding
    assert np.array_equal(vectors, expected)


# Memory ---------------------------------------------------------------------------------------------------------------


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="no /proc here")
def test_memory_does_not_grow_over_200_fits(communities: nigh.Graph) -> None:
    def resident() -> float:
        """In MB."""
        return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 1e6

    edges = communities.edge_index.astype(np.int64)
    features = np.random.default_rng(1).normal(size=(communities.num_nodes, 64))

    def use() -> None:
        model = fit(nigh.Graph(edges, features=features), epochs=1)
        model.embed().vectors.sum()
        model.predict(node=1)

    for _ in range(40):
        use()
    before = resident()
    for _ in range(200):
        use()
    # A leaked graph or model would be 20 MB and more.
    assert resident() - before < 8
