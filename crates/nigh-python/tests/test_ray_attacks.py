"""`nigh.ray` under attack: after any loss the bits are the same, or an error names the file and says what to do."""

from __future__ import annotations

import contextlib
import json
import os
import secrets
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
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

NODES, EDGES = 240, 1_500
SMALL: dict[str, Any] = {"shards": 3, "slice_width": 8, "progress": False}
TRAINING: dict[str, Any] = {
    "model": "smp-linear", "task": "link-prediction", "pairs_per_epoch": 100, "epochs": 1, "repeats": 2, "signal_dim": 16,
}  # fmt: skip
PROPAGATION: dict[str, Any] = {"signal_dim": 16, "format": "npy", **SMALL}

#: Makes calls in processes of their own, in one folder and one call after the other; the first argument says which, and how they end.
CHILDREN = """
import json, os, random, resource, signal, sys, traceback, warnings

warnings.simplefilter("ignore")
import nigh, nigh.ray
from nigh.ray import _storage

pipes = {}

def begin(call, out, prepare=lambda: None):
    reading, writing = os.pipe()
    child = os.fork()
    if child:
        os.close(writing)
        pipes[child] = reading
        return child
    status = 2
    try:
        prepare()
        arguments = dict(call)
        result = getattr(nigh.ray, arguments.pop("command"))(out=out, **arguments)
        os.write(writing, result.sha256.encode())
        status = 0
    except nigh.NighError as error:
        os.write(writing, str(error).encode())
        status = 1
    except BaseException:
        traceback.print_exc()
    finally:
        os._exit(status)

def end(child, out):
    # A call that hangs ends with the time limit of the test.
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    assert status in (0, 1, -signal.SIGKILL), (status, out)
    with os.fdopen(pipes.pop(child)) as pipe:
        return status, pipe.read()

def run(call, out, prepare=lambda: None):
    return end(begin(call, out, prepare), out)

def killed_at(number, after):
    replace, left = os.replace, [number]
    def deadly(*places):
        left[0] -= 1
        if after:
            replace(*places)
        if left[0] <= 0:
            os.kill(os.getpid(), signal.SIGKILL)
        if not after:
            replace(*places)
    os.replace = deadly

def unlocked():
    import fcntl
    def none(*_):
        raise OSError("there are no locks")
    fcntl.flock = none

found = []
exec(sys.argv[1])
print(json.dumps(found))
"""


def children(script: str, *arguments: object, prefix: tuple[str, ...] = (), **environment: str) -> list[Any]:
    command = [*prefix, sys.executable, "-c", CHILDREN, script, *(json.dumps(each, default=str) for each in arguments)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120, env={**os.environ, **environment})
    assert done.returncode == 0 and "Traceback" not in done.stderr, done.stderr
    found: list[Any] = json.loads(done.stdout.splitlines()[-1])
    return found


def content(folder: Path) -> dict[str, str]:
    """What a run wrote, and not how long it took."""
    ours = ("run.json", "result.json", "work")
    files = [path for path in sorted(folder.rglob("*")) if path.is_file() and path.relative_to(folder).parts[0] not in ours]
    return {str(path.relative_to(folder)): _nigh.file_digest(path) for path in files}


class Runs:
    """Calls and what they write when nothing happens."""

    def __init__(self, folder: Path) -> None:
        draw = np.random.default_rng(1)
        edges = (NODES * draw.random((EDGES, 2)) ** 2).astype(int)
        self.parts = folder / "edges"
        self.parts.mkdir()
        for part in range(2):
            rows = "".join(f"n{a:x},n{b:x}\n" for a, b in edges[part::2])
            (self.parts / f"{part}.csv").write_text(f"source,target\n{rows}")
        self.folder = folder
        slices = nigh.ray.propagate(self.parts, folder / "slices", num_workers=0, mode="slices", **PROPAGATION)
        graph = str(slices.graph).removeprefix("file://")
        source = {"source": str(self.parts)}
        self.calls: dict[str, dict[str, Any]] = {
            "slices": {"command": "propagate", **source, "mode": "slices", **PROPAGATION},
            "rows": {"command": "propagate", **source, "mode": "rows", "hop_storage": "float16", **PROPAGATION},
            "train": {"command": "train", "source": graph, "mode": "rows", **TRAINING, **SMALL},
            "embed": {"command": "embed", "model": str(folder / "train" / "model"), **source, "mode": "rows", **SMALL},
        }
        self.results = {"slices": slices}
        for name in ("rows", "train", "embed"):
            self.results[name] = self.run(name, folder / name, num_workers=0)
        self.content = {name: content(folder / name) for name in self.calls}

    def run(self, name: str, out: Path, **options: Any) -> nigh.ray.Result:
        call = {**self.calls[name], **options}
        result: nigh.ray.Result = getattr(nigh.ray, call.pop("command"))(out=out, **call)
        return result


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Runs:
    return Runs(tmp_path_factory.mktemp("runs"))


def equal_or_said(runs: Runs, name: str, out: Path, about: tuple[str, ...]) -> str:
    """The error, if there is one: it says all of this. If there is none, the result is the same."""
    try:
        result = runs.run(name, out, num_workers=0, keep_files=True)
    except nigh.NighError as error:
        assert all(each in str(error) for each in about), error
        return str(error)
    assert result.sha256 == runs.results[name].sha256 and content(out) == runs.content[name], about
    return ""


KILLED_IN_STAGES = """
call, out, kills, stages = map(json.loads, sys.argv[2:])
for stage in stages:
    open(os.path.join(kills, stage), "w").close()
    status, said = run(call, out)
    assert status == -signal.SIGKILL and os.listdir(kills) == [], (stage, status, said)
    found.append(stage)
assert run(call, out)[0] == 0
"""


def test_a_driver_that_is_killed_in_every_stage_goes_on(runs: Runs, tmp_path: Path) -> None:
    kills = tmp_path / "kills"
    kills.mkdir()
    killed = []
    for name, result in runs.results.items():
        stages = [stage.name for stage in result.stages]
        call = {**runs.calls[name], "num_workers": 0}
        killed += children(KILLED_IN_STAGES, call, tmp_path / name, kills, stages, NIGH_RAY_KILL=str(kills))
        assert content(tmp_path / name) == runs.content[name]
    assert len(killed) >= 40, killed


KILLED_AT_ANY_FILE = """
call, out, seed = map(json.loads, sys.argv[2:])
draw = random.Random(seed)
while True:
    number, after = draw.randint(1, 12), draw.random() < 0.5
    status, said = run(call, out, lambda: killed_at(number, after))
    assert status != 1, said
    if status == 0:
        break
    found.append([number, after])
    assert len(found) < 100
"""


def test_a_driver_that_is_killed_before_or_after_a_file_gets_its_name_goes_on(runs: Runs, tmp_path: Path) -> None:
    killed = 0
    for name in runs.calls:
        killed += len(children(KILLED_AT_ANY_FILE, {**runs.calls[name], "num_workers": 0}, tmp_path / name, len(name)))
        assert content(tmp_path / name) == runs.content[name]
    assert killed >= 20


def truncated(path: Path) -> None:
    os.truncate(path, path.stat().st_size // 2)


def emptied(path: Path) -> None:
    os.truncate(path, 0)


def flipped(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)


def flipped_unseen(path: Path) -> None:
    """As a disk does: size and time stay."""
    before = path.stat()
    flipped(path)
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))


def removed(path: Path) -> None:
    path.unlink()


def folder_instead(path: Path) -> None:
    path.unlink()
    path.mkdir()


ALTERATIONS: tuple[Callable[[Path], None], ...] = (truncated, emptied, flipped, flipped_unseen, removed, folder_instead)


def kinds_of_files(folder: Path) -> list[Path]:
    """One file of each stage and ending."""
    found: dict[tuple[str, str], Path] = {}
    for path in sorted(path.relative_to(folder) for path in folder.rglob("*") if path.is_file()):
        found.setdefault((path.parts[1] if path.parts[0] == "work" else path.parts[0], path.suffix), path)
    return list(found.values())


@pytest.mark.parametrize("name", ["slices", "rows"])
def test_files_that_are_altered_between_two_runs_are_made_again_or_named(runs: Runs, tmp_path: Path, name: str) -> None:
    kept = tmp_path / "kept"
    stages = [stage.name for stage in runs.run(name, kept, num_workers=0, keep_files=True).stages]
    said, attacks = [], 0
    for number, file in enumerate(kinds_of_files(kept)):
        # Half of them each, by turns.
        for alter in ALTERATIONS[number % 2 :: 2]:
            out = tmp_path / "out"
            shutil.copytree(kept, out)
            # All that comes later is done again, and reads it.
            stage = file.parts[1] if file.parts[0] == "work" else "graph" if file.name == "graph.nigh" else None
            for later in stages[stages.index(stage) + 1 :] if stage in stages else []:
                shutil.rmtree(out / "work" / later, ignore_errors=True)
            if file.name != "result.json" and (stage is not None or alter is not flipped_unseen):
                (out / "result.json").unlink()
            alter(out / file)
            error = equal_or_said(runs, name, out, (file.name,)) if (stage or alter is not flipped_unseen) else ""
            if error:
                said.append((str(file), alter.__name__, error))
                assert "remove" in error or alter is folder_instead, error
                path = out / file
                shutil.rmtree(path) if path.is_dir() else path.unlink()
                assert equal_or_said(runs, name, out, ("no error",)) == "", "it does what it says"
            attacks += 1
            shutil.rmtree(out)
    print(f"{name}: {attacks} alterations, {len(said)} errors")
    assert attacks >= 40


@pytest.mark.parametrize("name", ["slices", "rows"])
def test_files_that_are_altered_while_a_run_reads_them_are_made_again_or_named(
    runs: Runs, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    perform, errors = _tasks.perform, 0
    for number, stage in enumerate(runs.results[name].stages):
        out, altered = tmp_path / f"{number}", list[str]()
        alter = (truncated, flipped, flipped_unseen, removed)[number % 4]

        def attacked(task: _tasks.Task, *others: Any) -> _tasks.Done:
            done = perform(task, *others)
            if task.stage == stage.name and done.files and not altered:  # noqa: B023
                path = Path(done.files[0].url.removeprefix("file://"))
                alter(path)  # noqa: B023
                altered.append(path.name)  # noqa: B023
            return done

        with monkeypatch.context() as patch:
            patch.setattr(_workers, "perform", attacked)
            try:
                result = runs.run(name, out, num_workers=0, keep_files=True)
                assert result.sha256 == runs.results[name].sha256
            except nigh.FileError as error:
                errors += 1
                assert altered and altered[0] in str(error) and "removed" in str(error)
        if altered:
            for path in [path for path in out.rglob(altered[0]) if alter is flipped_unseen]:
                path.unlink()
            assert runs.run(name, out, num_workers=0).sha256 == runs.results[name].sha256
            assert content(out) == runs.content[name]
    assert errors > 0


def test_a_source_that_changes_while_it_is_read_is_named(runs: Runs, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source = tmp_path / "edges.csv"
    shutil.copy(runs.parts / "0.csv", source)
    native = _nigh.run_task

    def changing(task: str, *others: Any) -> str:
        if json.loads(task)["do"] == "read-edges":
            source.write_text(f"{source.read_text()}a,b\n")
        return native(task, *others)

    monkeypatch.setattr(_nigh, "run_task", changing)
    with pytest.raises(nigh.FileError, match=r"edges.csv has changed while it was in use.* take another folder"):
        nigh.ray.propagate(source, tmp_path / "out", num_workers=0, **PROPAGATION)
    assert not list((tmp_path / "out" / "work").glob("ids/*"))


def test_manifests_with_other_numbers_are_not_believed(runs: Runs, tmp_path: Path) -> None:
    out = tmp_path / "out"
    runs.run("slices", out, num_workers=0, keep_files=True)
    for path in sorted(out.rglob("*.json")):
        told = json.loads(path.read_text())
        for field in ("facts", "sha256", "seed"):
            if field in told:
                told[field] = {"count": 3} if field == "facts" else 7
        path.write_text(json.dumps(told))
    with pytest.raises(nigh.FileError, match=r"run.json is damaged: its checksum is another; remove it"):
        runs.run("slices", out, num_workers=0)
    (out / "run.json").unlink()
    assert equal_or_said(runs, "slices", out, ()) == ""


def test_copies_that_are_altered_are_made_again(tmp_path: Path) -> None:
    import fsspec

    fsspec.filesystem("memory").pipe_file("/copied", bytes(range(256)))
    for alter in (truncated, emptied, flipped, flipped_unseen, removed):
        storage = _storage.Storage(cache=str(tmp_path / alter.__name__))
        known = storage.examine("memory://copied")
        alter(storage.local(known))
        assert storage.local(known).read_bytes() == bytes(range(256)), alter
    (tmp_path / "file").touch()
    with pytest.raises(nigh.FileError, match="file/partial-.* a copy of memory://copied: .*needs the folder to be there"):
        _storage.Storage(cache=str(tmp_path / "file")).examine("memory://copied")


RACE = """
calls, out = map(json.loads, sys.argv[2:])
for attempt in range(6):
    folder = f"{out}/{attempt}"
    prepare = unlocked if attempt % 2 else lambda: None
    begun = [begin(call, folder, prepare) for call in calls]
    found.append([end(child, folder) for child in begun])
"""


def test_of_two_drivers_in_a_folder_one_is_told_of_the_other(runs: Runs, tmp_path: Path) -> None:
    out = tmp_path / "locked"
    with _storage.Folder.at(out, _storage.Storage()).locked():
        with pytest.raises(nigh.InputError, match="another process is at work in .*locked; wait until it is done"):
            runs.run("slices", out, num_workers=0)
    assert runs.run("slices", out, num_workers=0).sha256 == runs.results["slices"].sha256

    call = {**runs.calls["slices"], "num_workers": 0}
    digests = {1: runs.results["slices"].sha256, 2: runs.run("slices", tmp_path / "two", num_workers=0, seed=2).sha256}
    (tmp_path / "race").mkdir()
    for attempt, ended in enumerate(children(RACE, [call, {**call, "seed": 2}, call], tmp_path / "race")):
        for (status, said), seed in zip(ended, (1, 2, 1), strict=True):
            # One, or also several that did not notice each other where nothing locks.
            assert said == digests[seed] if status == 0 else "/race/" in said, (attempt, said)
        assert attempt % 2 or any(status == 0 for status, _ in ended)
        folder = tmp_path / "race" / str(attempt)
        seed = json.loads((folder / "run.json").read_text())["seed"]
        assert runs.run("slices", folder, num_workers=0, seed=seed).sha256 == digests[seed]


def test_a_folder_behind_a_link_is_that_folder(runs: Runs, tmp_path: Path) -> None:
    real, link = tmp_path / "real", tmp_path / "link"
    real.mkdir()
    link.symlink_to(real)
    assert runs.run("slices", link, num_workers=0).out == f"file://{link}"
    assert content(real) == runs.content["slices"]
    before = (real / "result.json").stat().st_mtime_ns
    result = runs.run("slices", real, num_workers=0)
    assert (result.out, result.graph) == (f"file://{real}", f"file://{real}/graph.nigh")
    assert all(Path(file.removeprefix("file://")).parent == real for file in result.files)
    assert (real / "result.json").stat().st_mtime_ns == before, "nothing was left to do"
    with _storage.Folder.at(real, _storage.Storage()).locked(), pytest.raises(nigh.InputError, match="another process"):
        runs.run("slices", link, num_workers=0)
    dangling = tmp_path / "dangling"
    dangling.symlink_to(tmp_path / "nowhere")
    with pytest.raises(nigh.FileError, match="dangling: File exists.* needs the folder to be there"):
        runs.run("slices", dangling, num_workers=0)


def test_intermediate_files_may_be_on_another_disk(runs: Runs, tmp_path: Path) -> None:
    memory = Path("/dev/shm")
    if not memory.is_dir() or memory.stat().st_dev == tmp_path.stat().st_dev:
        pytest.skip("there is no second disk")
    scratch, out = memory / f"nigh-{secrets.token_hex(8)}", tmp_path / "out"
    scratch.mkdir()
    try:
        out.mkdir()
        (out / "work").symlink_to(scratch)
        assert equal_or_said(runs, "rows", out, ()) == ""
        assert not [path for path in out.iterdir() if "partial" in path.name]
        shutil.rmtree(out / "work" / "rows")
        (out / "result.json").unlink()
        runs.run("rows", out, num_workers=0)
        assert content(out) == runs.content["rows"] and list(scratch.iterdir()) == []
    finally:
        shutil.rmtree(scratch)


LIMITED = """
call, out, limits = map(json.loads, sys.argv[2:])
for limit in limits:
    found.append([limit, *run(call, f"{out}/{limit}", lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit)))])
    status, said = run(call, f"{out}/{limit}")
    found[-1].append(said)
"""


def test_files_that_can_not_grow_are_errors_and_never_half_written(runs: Runs, tmp_path: Path) -> None:
    limits = [0, 1, 100, 300, 1_000, 2_000, 3_000, 5_000, 7_000, 8_000, 10_000, 20_000]
    for name in ("slices", "rows"):
        (tmp_path / name).mkdir()
        failed = 0
        for limit, status, said, again in children(LIMITED, {**runs.calls[name], "num_workers": 0}, tmp_path / name, limits):
            assert status == 1 or said == runs.results[name].sha256
            failed += status
            if status == 1:
                assert "File too large" in said and f"/{name}/{limit}/" in said and "the same call goes on" in said, said
            assert again == runs.results[name].sha256 and content(tmp_path / name / str(limit)) == runs.content[name]
        assert failed >= 6, name


FULL = """
call, out = map(json.loads, sys.argv[2:])
def mount(options):
    status = os.system(f"mount -t tmpfs -o {options} none {out}")
    assert status == 0, status
os.mkdir(out)
mount("size=4k")
size, status = 4, 1
while status == 1:
    status, said = run(call, f"{out}/run")
    found.append([size, status, said])
    size += 24
    mount(f"remount,size={size}k")
    assert size < 4000
"""


def test_a_disk_that_is_full_is_named_and_with_more_room_the_same_call_goes_on(runs: Runs, tmp_path: Path) -> None:
    namespace = ("unshare", "--mount", "--map-root-user")
    probe = [*namespace, "sh", "-c", f"mount -t tmpfs none {tmp_path}"]
    with contextlib.suppress(OSError):
        if subprocess.run(probe, capture_output=True, check=False).returncode == 0:
            call = {**runs.calls["rows"], "num_workers": 0}
            *failed, (_, status, said) = children(FULL, call, tmp_path / "disk", prefix=namespace)
            assert len(failed) >= 3
            for _, _, error in failed:
                assert "No space left on device" in error and "/disk/run" in error and "the same call goes on" in error, error
            assert (status, said) == (0, runs.results["rows"].sha256)
            return
    pytest.skip("no file system can be mounted here")


def test_a_folder_that_disappears_is_named(runs: Runs, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    perform = _tasks.perform
    for number, stage in enumerate(runs.results["rows"].stages[::3]):
        for lost in ("work", "."):
            out, gone = tmp_path / f"{number}{lost}" / "out", list[str]()

            def attacked(task: _tasks.Task, *others: Any) -> _tasks.Done:
                if task.stage == stage.name and not gone:  # noqa: B023
                    gone.append(lost)  # noqa: B023
                    shutil.rmtree(out / lost)  # noqa: B023
                return perform(task, *others)

            with monkeypatch.context() as patch:
                patch.setattr(_workers, "perform", attacked)
                with contextlib.suppress(nigh.FileError):
                    assert runs.run("rows", out, num_workers=0).sha256 == runs.results["rows"].sha256
            assert gone and equal_or_said(runs, "rows", out, ()) == ""


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory, ray_token: str) -> Iterator[Path]:
    """Ray with two workers; the folder says in which stages they are lost."""
    kills = tmp_path_factory.mktemp("kills")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("RAY_AUTH_TOKEN", ray_token)
        patch.delenv("RAY_AUTH_MODE", raising=False)
        patch.setenv("NIGH_RAY_KILL", str(kills))
        _workers.start(ray, 2)
        yield kills
        ray.shutdown()


def test_a_worker_that_can_not_write_says_which_file(runs: Runs, tmp_path: Path, cluster: Path) -> None:
    out = tmp_path / "out"
    (out / "work").mkdir(parents=True)
    (out / "work" / "slices").touch()
    with pytest.raises(nigh.FileError, match=r"out/work/slices/\d+.*(Not a directory|File exists).* the same call goes on"):
        runs.run("slices", out, num_workers=2)
    (out / "work" / "slices").unlink()
    assert runs.run("slices", out, num_workers=2).sha256 == runs.results["slices"].sha256
