"""A run: stages of tasks, of which those that are complete are not done again."""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from .. import _nigh
from .._errors import FileError, InputError
from .._progress import line
from ._storage import File, Folder
from ._tasks import Done, Task, find
from ._workers import Workers


@dataclass(frozen=True)
class Stage:
    """What a stage took."""

    name: str
    #: How many tasks it has.
    tasks: int
    #: How many of them were done by this call; the others were complete.
    done: int
    seconds: float
    #: Seconds of all threads of all of its tasks.
    cpu: float
    #: The most memory of a worker, in bytes.
    peak: int
    #: The most that a task added to what its worker had before.
    added: int


@dataclass(frozen=True)
class Result:
    """What a run wrote."""

    #: The folder.
    out: str
    #: The parts, in the order of their rows.
    files: list[str]
    #: Their sizes in bytes.
    sizes: list[int]
    #: The digest of all rows in order, as little-endian float32: that of the data of one NumPy array.
    sha256: str
    num_nodes: int
    num_edges: int
    #: The graph file.
    graph: str | None
    #: ``"slices"`` or ``"rows"``.
    mode: str
    stages: list[Stage] = field(repr=False)

    @property
    def peak(self) -> int:
        """The most memory of a worker, in bytes."""
        return max((stage.peak for stage in self.stages), default=0)


class Run:
    """Stages, their progress, and the settings that they belong to."""

    def __init__(self, out: Folder, workers: Workers, progress: bool) -> None:
        self.out, self.workers, self.progress = out, workers, progress
        self.stages: list[Stage] = []
        self.settings: dict[str, Any] = {}

    def claim(self, settings: dict[str, Any]) -> None:
        """A folder is of one run: with other settings, what is there would be mixed with what comes."""
        settings = {"version": _nigh.__version__, **settings}
        self.settings = settings
        found = self.out.read_json("run.json")
        if found is None:
            self.out.write_json("run.json", settings)
            # Somebody else may have done the same, where there are no locks.
            found = self.out.read_json("run.json") or {}
        for name in [*settings, *found]:
            if found.get(name) != settings.get(name):
                raise InputError(
                    f"{self.out.url} has a run with `{name}` {found.get(name)!r}, and not {settings.get(name)!r}; take another "
                    "folder, or remove this one"
                )

    def stage(self, name: str, tasks: Sequence[Task]) -> list[Done]:
        """Does what is not complete yet."""
        started = time.monotonic()
        found = [find(task, self.out) for task in tasks]
        missing = [number for number, done in enumerate(found) if done is None]
        shown = Shown(name, len(tasks), len(missing), self.progress)
        fresh: list[Done] = []
        try:
            for number, done in self.workers.perform([tasks[number] for number in missing], self.out):
                found[missing[number]] = done
                fresh.append(done)
                shown.step(len(fresh))
        finally:
            shown.close()
        complete = [done for done in found if done is not None]
        seconds, cpu = time.monotonic() - started, sum(done.cpu for done in complete)
        peak, added = max(done.peak for done in complete), max(done.peak - done.before for done in complete)
        self.stages.append(Stage(name, len(tasks), len(fresh), seconds, cpu, peak, added))
        return complete

    def found(self) -> Result | None:
        """What was written, if all of it is there."""
        try:
            found = self.out.read_json("result.json")
        except FileError:
            # Damaged; it is written again.
            return None
        if found is None or found.pop("settings") != self.settings:
            return None
        # The folder may have got another name, or be reached by a link.
        before, here = f"{found['out']}/", f"{self.out.url}/"
        written = [File(self.out.name(name), **file) for name, file in found.pop("written").items()]
        found["files"] = [url.replace(before, here, 1) for url in found["files"]]
        if found["graph"] is not None:
            found["graph"] = found["graph"].replace(before, here, 1)
        stages = [Stage(**{**stage, "done": 0}) for stage in found["stages"]]
        result = Result(**{**found, "out": self.out.url, "stages": stages})
        return result if all(self.out.has(file) for file in written) else None

    def tell(self, what: str) -> None:
        """A line for the user."""
        if self.progress:
            sys.stderr.write(f"{what}\n")
            sys.stderr.flush()

    def finish(self, files: Sequence[File], sha256: str, counts: dict[str, Any], graph: File | None, mode: str) -> Result:
        """Records what was written."""
        result = Result(
            self.out.url, [file.url for file in files], [file.bytes for file in files], sha256, counts["num_nodes"], counts["num_edges"],
            graph.url if graph is not None else None, mode, self.stages,
        )  # fmt: skip
        inside = f"{self.out.url}/"
        written = {
            file.url.removeprefix(inside): {"digest": file.digest, "bytes": file.bytes, "changed": file.changed}
            for file in [*files, *([] if graph is None else [graph])]
            if file.url.startswith(inside)
        }
        self.out.write_json("result.json", {**asdict(result), "written": written, "settings": self.settings})
        return result


class Shown:
    """One line per stage on stderr; where nobody looks, when it begins and ends."""

    def __init__(self, stage: str, total: int, missing: int, progress: bool) -> None:
        self.stage, self.total, self.missing = stage, total, missing
        self.started = time.monotonic()
        self.line = line(total) if progress else None
        self.is_told = progress and self.line is None
        if self.is_told:
            complete = total - missing
            self._tell(f"{total} tasks" + (f", of which {complete} are complete" if complete else ""))

    def step(self, done: int) -> None:
        """So many of the missing tasks are done."""
        seconds = time.monotonic() - self.started
        left = seconds / done * (self.missing - done)
        if self.line is not None:
            complete = self.total - self.missing + done
            self.line.at(complete, f"{self.stage}: {complete}/{self.total}, {left:.0f} s left")
        elif self.is_told and done == self.missing:
            self._tell(f"{self.total}/{self.total} in {seconds:.1f} s")

    def _tell(self, what: str) -> None:
        sys.stderr.write(f"{self.stage}: {what}\n")
        sys.stderr.flush()

    def close(self) -> None:
        """The line is no longer needed."""
        if self.line is not None:
            self.line.close()
