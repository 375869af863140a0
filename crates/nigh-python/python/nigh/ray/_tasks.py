"""What a worker does: a task of the engine, from files to files."""

from __future__ import annotations

import hashlib
import json
import os
import signal
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .. import _nigh
from .._errors import FileError
from ._storage import File, Folder


@dataclass(frozen=True)
class Task:
    """A pure function from files to files, and the names of these."""

    #: The stage that it belongs to.
    stage: str
    #: Its name within the stage, which is also that of the file that says that it is done.
    name: str
    #: What to do, as the engine describes it.
    what: dict[str, Any]
    inputs: tuple[File, ...]
    outputs: tuple[str, ...]

    @property
    def manifest(self) -> str:
        """The file that is written last."""
        return f"work/{self.stage}/{self.name}.json"

    def key(self) -> str:
        """The digest of all that the result depends on."""
        content = [_nigh.__version__, self.what, [file.digest for file in self.inputs], self.outputs]
        return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


@dataclass(frozen=True)
class Done:
    """What a task left behind."""

    files: tuple[File, ...]
    facts: dict[str, Any]
    seconds: float
    #: Seconds of all threads.
    cpu: float
    #: The most memory that the worker had meanwhile, and what it had before; 0 if the system does not tell.
    peak: int
    before: int


def find(task: Task, out: Folder) -> Done | None:
    """What a task left behind, if it is complete and nothing that it depends on has changed."""
    try:
        manifest = out.read_json(task.manifest)
    except FileError:
        # Damaged; it is written again.
        return None
    if manifest is None or manifest["key"] != task.key():
        return None
    done = _done(manifest, out)
    return done if all(out.has(file) for file in done.files) else None


def perform(task: Task, out: Folder, threads: int) -> Done:
    """Does a task on this machine."""
    _reset_peak()
    before, started, cpu = _memory("VmRSS"), time.monotonic(), time.process_time()
    inputs = [out.storage.local(file) for file in task.inputs]
    with out.partial() as folder:
        paths = [folder / name.rsplit("/", 1)[-1] for name in task.outputs]
        try:
            facts = _facts(task.what, inputs, paths, out, threads)
        except FileError as error:
            raise _named_after_outputs(error, task, paths, out) from error
        # What changed meanwhile may have been read before or after.
        for file, path in zip(task.inputs, inputs, strict=True):
            file.check(path)
        _die_if_asked(task.stage)
        files = {}
        for name, path in zip(task.outputs, paths, strict=True):
            # What nobody could use is not written.
            if path.exists():
                found = path.stat()
                files[name] = {"digest": _nigh.file_digest(path), "bytes": found.st_size, "changed": found.st_mtime_ns}
                out.publish(path, name)
        manifest = {
            "key": task.key(), "files": files, "facts": facts, "seconds": time.monotonic() - started,
            "cpu": time.process_time() - cpu, "peak": _memory("VmHWM"), "before": before,
        }  # fmt: skip
        out.write_json(task.manifest, manifest)
    return _done(manifest, out)


def _facts(what: dict[str, Any], inputs: list[Path], outputs: list[Path], out: Folder, threads: int) -> dict[str, Any]:
    if what["do"] == "examine":
        # A file of the user, by its place; all others are known by their content.
        found = out.storage.examine(what["url"])
        return {"digest": found.digest, "bytes": found.bytes}
    facts: dict[str, Any] = json.loads(_nigh.run_task(json.dumps(what), inputs, outputs, threads))
    return facts


def _named_after_outputs(error: FileError, task: Task, paths: list[Path], out: Folder) -> FileError:
    """Users know a file by the name that it would have got."""
    message = str(error)
    for name, path in zip(task.outputs, paths, strict=True):
        if str(path) in message:
            message = message.replace(str(path), out.name(name))
            return FileError(f"{message}; the same call goes on once it can be written")
    return error


def _done(manifest: dict[str, Any], out: Folder) -> Done:
    files = tuple(File(out.name(name), **file) for name, file in manifest["files"].items())
    return Done(files, manifest["facts"], manifest["seconds"], manifest["cpu"], manifest["peak"], manifest["before"])


def _memory(what: str) -> int:
    """Bytes of this process, from the system's account."""
    try:
        lines = Path("/proc/self/status").read_text().splitlines()
    except OSError:
        return 0
    return next((int(line.split()[1]) * 1024 for line in lines if line.startswith(what)), 0)


def _reset_peak() -> None:
    """Lets the account of the most memory begin again; workers do several tasks."""
    try:
        Path("/proc/self/clear_refs").write_text("5")
    except OSError:
        pass


def _die_if_asked(stage: str) -> None:
    """For tests: the folder ``NIGH_RAY_KILL`` has a file for each stage in which a worker is to be lost, once."""
    folder = os.environ.get("NIGH_RAY_KILL")
    if folder:
        try:
            os.unlink(os.path.join(folder, stage))
        except OSError:
            return
        os.kill(os.getpid(), signal.SIGKILL)
