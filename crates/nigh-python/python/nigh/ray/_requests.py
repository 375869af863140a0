"""What the run of a model asks for, done by tasks: rows of nodes after several hops."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ._graph import Prepared, divided
from ._propagation import joined_slices, propagated
from ._run import Run
from ._storage import File
from ._tasks import Done, Task

#: Columns whose products are summed together: a slice has whole groups of them.
GROUP = 16
#: Graphs that a run passes messages over, at most: one for each fold of the training pairs, and those of validation and test.
GRAPHS = 16


def slice_of(width: int) -> int:
    """Columns of a slice of whole groups."""
    return max(GROUP, width // GROUP * GROUP)


def outputs(name: str) -> tuple[str, ...]:
    """The file of requests, and as many graph files as there may be."""
    return (f"{name}.requests", *(f"{name}-{number:02}.nigh" for number in range(GRAPHS)))


@dataclass(frozen=True)
class _Request:
    #: Tells the requests of a run apart.
    name: str
    #: Its number in its file.
    number: int
    facts: dict[str, Any]
    file: File
    graph: Prepared

    def slices(self, width: int) -> list[tuple[int, int]]:
        columns: int = self.facts["columns"]
        return [(start, min(start + width, columns)) for start in range(0, columns, width)]


def answered(run: Run, asked: Sequence[Done], mode: str, shards: int, width: int) -> list[File]:
    """For each of these files of requests the file itself, and behind it those of all rows."""
    files = [done.files[0] for done in asked]
    graphs = _prepared(run, [list(done.files[1:]) for done in asked], mode, shards)
    of_files = [
        [
            _Request(f"{at:03}-{number:03}", number, facts, files[at], graphs[at][facts["graph"]])
            for number, facts in enumerate(done.facts["requests"])
        ]
        for at, done in enumerate(asked)
    ]
    requests = [request for of_file in of_files for request in of_file]
    levels = [request for request in requests if request.facts["storage"] is None]
    by = _by_slices if mode == "slices" else _by_rows
    rows = by(run, levels, width) if levels else {}
    for request in requests:
        if request.facts["storage"] is not None:
            rows[request.name] = _power(run, request, mode, width)
    found: list[File] = []
    for file, of_file in zip(files, of_files, strict=True):
        found += [file, *(row for request in of_file for row in rows[request.name])]
    return found


def _prepared(run: Run, graphs: list[list[File]], mode: str, shards: int) -> list[list[Prepared]]:
    """The graphs, in blocks of rows if that is the mode."""
    places = [(at, number) for at, files in enumerate(graphs) for number in range(len(files))]
    check = [Task("graphs", f"{at:03}-{number:02}", {"do": "check-graph"}, (graphs[at][number],), ()) for at, number in places]
    counts = [done.facts for done in run.stage("graphs", check)] if check else []
    rows = [divided(facts["num_nodes"], shards) for facts in counts]
    blocks: dict[tuple[int, int], list[File]] = {}
    if mode == "rows" and check:
        tasks = [
            Task(
                "graph-blocks", f"{at:03}-{number:02}-{block:05}", {"do": "cut-block", "rows": some}, (graphs[at][number],),
                (f"work/graph-blocks/{at:03}-{number:02}-{block:05}.block",),
            )
            for (at, number), of_graph in zip(places, rows, strict=True)
            for block, some in enumerate(of_graph)
        ]  # fmt: skip
        found = iter(run.stage("graph-blocks", tasks))
        blocks = {place: [next(found).files[0] for _ in of_graph] for place, of_graph in zip(places, rows, strict=True)}
    prepared: list[list[Prepared]] = [[] for _ in graphs]
    for (at, number), facts, of_graph in zip(places, counts, rows, strict=True):
        prepared[at].append(
            Prepared(
                facts["num_nodes"], facts["num_edges"], facts["weighted"], of_graph, graphs[at][number], blocks.get((at, number))
            )
        )
    return prepared


def _by_slices(run: Run, requests: Sequence[_Request], width: int) -> dict[str, list[File]]:
    """Every slice on its own, from the whole graph."""
    tasks = [
        Task(
            "levels", f"{request.name}-{start:05}", {"do": "level-slice", "request": request.number, "columns": [start, end]},
            (request.file, _whole(request)), (f"work/levels/{request.name}-{start:05}.npy",),
        )
        for request in requests
        for start, end in request.slices(width)
    ]  # fmt: skip
    return _of_requests(requests, width, run.stage("levels", tasks))


def _by_rows(run: Run, requests: Sequence[_Request], width: int) -> dict[str, list[File]]:
    """A hop after the other: each block of rows from all rows of the hop before."""
    tasks = [
        Task(
            "scales", request.name, {"do": "level-scales", "request": request.number}, (request.file, _whole(request)),
            (f"work/scales/{request.name}.npy",),
        )
        for request in requests
    ]  # fmt: skip
    scales = {request.name: done.files[0] for request, done in zip(requests, run.stage("scales", tasks), strict=True)}
    slices = [(request, start, end) for request in requests for start, end in request.slices(width)]
    panels: dict[tuple[str, int, int], list[File]] = {}
    for hop in range(max(max(request.facts["hops"]) for request in requests) + 1):
        wanted = [(request, start, end) for request, start, end in slices if hop <= max(request.facts["hops"])]
        stage = f"level-{hop}"
        tasks = []
        for request, start, end in wanted:
            assert request.graph.blocks is not None
            before = panels.get((request.name, start, hop - 1), [])
            what = {"do": "level-rows", "request": request.number, "columns": [start, end]}
            for number, block in enumerate(request.graph.blocks):
                name = f"{request.name}-{start:05}-{number:05}"
                inputs = (request.file, block, scales[request.name], *before)
                tasks.append(Task(stage, name, what, inputs, (f"work/{stage}/{name}.npy",)))
        found = iter(run.stage(stage, tasks))
        for request, start, _ in wanted:
            panels[request.name, start, hop] = [next(found).files[0] for _ in request.graph.rows]
    tasks = [
        Task(
            "gathered", f"{request.name}-{start:05}", {"do": "gather-levels", "request": request.number, "columns": [start, end]},
            (request.file, *(file for hop in request.facts["hops"] for file in panels[request.name, start, hop])),
            (f"work/gathered/{request.name}-{start:05}.npy",),
        )
        for request, start, end in slices
    ]  # fmt: skip
    return _of_requests(requests, width, run.stage("gathered", tasks))


def _of_requests(requests: Sequence[_Request], width: int, done: Sequence[Done]) -> dict[str, list[File]]:
    found = iter(done)
    return {request.name: [next(found).files[0] for _ in request.slices(width)] for request in requests}


def _whole(request: _Request) -> File:
    assert request.graph.graph is not None
    return request.graph.graph


def _power(run: Run, request: _Request, mode: str, width: int) -> list[File]:
    """All rows after the last hop, as a model takes them whose message passing is nothing else."""
    matrix, (hops,), storage = request.facts["matrix"], request.facts["hops"], request.facts["storage"]
    file = (request.file,) if matrix["matrix"] == "requested" else ()
    name = f"-{request.name}"
    columns = propagated(run, request.graph, mode, matrix, hops, storage, width, name, file)
    return joined_slices(run, columns, name)
