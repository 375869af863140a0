"""Powers of the operator, by slices of columns or by blocks of rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ._graph import Prepared
from ._run import Run
from ._storage import File
from ._tasks import Done, Task


@dataclass(frozen=True)
class Columns:
    """A propagated matrix in slices of columns."""

    #: For each block of rows a file of each slice.
    files: list[list[File]]
    #: For each block of rows, how many rows come before it in its files.
    skips: list[int]

    def is_whole(self) -> bool:
        """Whether a file has all rows of its slice."""
        return all(files == self.files[0] for files in self.files)


def propagated(
    run: Run, graph: Prepared, mode: str, matrix: dict[str, Any], hops: int, storage: str, slice_width: int, name: str = "",
    file: tuple[File, ...] = (),
) -> Columns:  # fmt: skip
    """``A^K X`` for the matrix that the engine describes, in a file if it is in one. `name` tells several matrices of a run apart."""
    columns = [(start, min(start + slice_width, matrix["dim"])) for start in range(0, matrix["dim"], slice_width)]
    settings = {"hops": hops, "storage": storage, "scale": None}
    if storage == "float16":
        # One scale for the whole matrix, however it is divided.
        tasks = [
            Task(f"scale{name}", f"{number:05}", {"do": "find-scale", "source": matrix, "rows": rows}, file, ())
            for number, rows in enumerate(graph.rows)
        ]
        scales = [done.facts["scale"] for done in run.stage(f"scale{name}", tasks)]
        if None not in scales:
            settings["scale"] = min(scales)
            found = _attempt(run, graph, mode, matrix, file, columns, settings, name)
            if found is not None:
                return found
        # An entry has no room in half precision: then all of them are in single precision.
        settings, name = {"hops": hops, "storage": "float32", "scale": None}, f"{name}-float32"
    found = _attempt(run, graph, mode, matrix, file, columns, settings, name)
    assert found is not None, "single precision has room for every entry"
    return found


def _attempt(
    run: Run, graph: Prepared, mode: str, matrix: dict[str, Any], file: tuple[File, ...], columns: Sequence[tuple[int, int]],
    settings: dict[str, Any], name: str,
) -> Columns | None:  # fmt: skip
    by = _by_slices if mode == "slices" else _by_rows
    return by(run, graph, matrix, file, columns, settings, name)


def _by_slices(
    run: Run, graph: Prepared, matrix: dict[str, Any], file: tuple[File, ...], columns: Sequence[tuple[int, int]],
    settings: dict[str, Any], name: str,
) -> Columns | None:  # fmt: skip
    """Every slice on its own, from the whole graph: nothing passes between workers."""
    assert graph.graph is not None
    stage = f"slices{name}"
    tasks = [
        Task(
            stage, f"{start:05}", {"do": "propagate-slice", "source": matrix, "hops": settings, "columns": [start, end]},
            (graph.graph, *file), (f"work/{stage}/{start:05}.npy",),
        )
        for start, end in columns
    ]  # fmt: skip
    done = run.stage(stage, tasks)
    if not _fit(done):
        return None
    slices = [each.files[0] for each in done]
    starts = [start for start, _ in graph.rows]
    return Columns([slices for _ in graph.rows], starts)


def _by_rows(
    run: Run, graph: Prepared, matrix: dict[str, Any], file: tuple[File, ...], columns: Sequence[tuple[int, int]],
    settings: dict[str, Any], name: str,
) -> Columns | None:  # fmt: skip
    """A hop after the other: each block of rows from all rows of the hop before."""
    assert graph.blocks is not None
    blocks = range(len(graph.rows))

    def run_hop(hop: int, tasks: list[tuple[dict[str, Any], tuple[File, ...]]]) -> list[list[File]] | None:
        """A file for each slice and block."""
        stage = f"hop-{hop}{name}"
        places = [(start, block) for start, _ in columns for block in blocks]
        done = run.stage(
            stage,
            [
                Task(stage, f"{start:05}-{block:05}", what, inputs, (f"work/{stage}/{start:05}-{block:05}.npy",))
                for (start, block), (what, inputs) in zip(places, tasks, strict=True)
            ],
        )
        if not _fit(done):
            return None
        return [[each.files[0] for each in done[at : at + len(blocks)]] for at in range(0, len(done), len(blocks))]

    counts = graph.counts()
    started: list[tuple[dict[str, Any], tuple[File, ...]]] = [
        ({"do": "start-rows", "source": matrix, "hops": settings, "columns": [start, end], "graph": counts}, (graph.blocks[block], *file))
        for start, end in columns
        for block in blocks
    ]
    panels = run_hop(0, started)
    # Where rows were not multiplied by the scale of their nodes before, a hop needs those of all nodes.
    worth_a_pass = graph.num_edges >= 16 * graph.num_nodes
    others = () if settings["storage"] == "float16" or not graph.weighted or worth_a_pass else tuple(graph.blocks)
    for hop in range(1, settings["hops"] + 1):
        if panels is None:
            return None
        what = {"do": "hop-rows", "hops": settings, "last": hop == settings["hops"], "graph": counts}
        tasks: list[tuple[dict[str, Any], tuple[File, ...]]] = [
            ({**what, "width": end - start}, (graph.blocks[block], *panel, *others))
            for (start, end), panel in zip(columns, panels, strict=True)
            for block in blocks
        ]
        panels = run_hop(hop, tasks)
    if panels is None:
        return None
    of_blocks = [[panel[block] for panel in panels] for block in blocks]
    return Columns(of_blocks, [0 for _ in blocks])


def _fit(done: Sequence[Done]) -> bool:
    return all(each.facts["fits"] for each in done)


def written(
    run: Run, graph: Prepared, columns: Columns, form: str, model: File | None = None, features: Columns | None = None
) -> tuple[list[File], str]:
    """Rows with the names of their nodes, a file per block, and the digest of all numbers. With a model, its representations."""
    tasks = []
    for number, (start, end) in enumerate(graph.rows):
        part, slices = f"part-{number:05}.{form}", columns.files[number]
        what = {"do": "write-rows", "rows": [start, end], "skip": columns.skips[number], "slices": len(slices)}
        inputs = [named(graph, number), *slices]
        if model is not None:
            of_features = [] if features is None else features.files[number]
            what |= {"model": True, "features": len(of_features)}
            inputs += [model, *of_features]
        outputs = (part, f"{part}.ids.txt") if form == "npy" else (part,)
        tasks.append(Task("rows", f"{number:05}", what, tuple(inputs), outputs))
    if model is None:
        # Of the slices, while the rows are written.
        of_blocks = columns.files[:1] if columns.is_whole() else columns.files
        inputs_of_all = tuple(file for files in of_blocks for file in files)
        digest = Task("rows", "digest", {"do": "digest-rows", "slices": len(columns.files[0])}, inputs_of_all, ())
        done, *rows = run.stage("rows", [digest, *tasks])
        return [each.files[0] for each in rows], done.facts["sha256"]
    files = [each.files[0] for each in run.stage("rows", tasks)]
    (done,) = run.stage("digest", [Task("digest", "rows", {"do": "digest-rows", "slices": 1}, tuple(files), ())])
    return files, done.facts["sha256"]


def named(graph: Prepared, block: int) -> File:
    """The file that has the names of a block's nodes."""
    if graph.blocks is not None:
        return graph.blocks[block]
    assert graph.graph is not None
    return graph.graph


def joined_slices(run: Run, columns: Columns, name: str) -> list[File]:
    """Each slice with all of its rows in one file."""
    if columns.is_whole():
        return columns.files[0]
    stage = f"columns{name}"
    tasks = [
        Task(stage, f"{number:05}", {"do": "join-rows"}, tuple(files), (f"work/{stage}/{number:05}.npy",))
        for number, files in enumerate(zip(*columns.files, strict=True))
    ]
    return [done.files[0] for done in run.stage(stage, tasks)]
