"""Edges in any number of files to blocks of rows, and to one graph file."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from .._errors import InputError, note
from ._run import Run
from ._storage import File, page_digest
from ._tasks import Done, Task

#: The first bytes of a graph file.
MAGIC = b"\x8fNIGH\r\n\x1a"
#: Numbers of nodes have 31 bits.
MOST_NODES = 1 << 31


@dataclass(frozen=True)
class Prepared:
    """A graph in files."""

    num_nodes: int
    num_edges: int
    weighted: bool
    #: First row and end of each block.
    rows: list[tuple[int, int]]
    #: The graph file, if there is one.
    graph: File | None
    #: A file for each block of rows, if there are any.
    blocks: list[File] | None

    def counts(self) -> dict[str, Any]:
        """What tasks have to know of the whole."""
        return {"num_nodes": self.num_nodes, "num_edges": self.num_edges, "weighted": self.weighted}


def examined(run: Run, urls: Sequence[str], stage: str = "inputs") -> list[File]:
    """The content of the user's files."""
    storage = run.out.storage
    if len(urls) == 1 and is_graph_file(run, urls[0]) and (path := storage.in_place(urls[0])) is not None:
        # Its first page has the checksums of all that follows, and these are compared before it is used.
        return [File(urls[0], page_digest(path), path.stat().st_size)]
    tasks = [
        Task(stage, f"{number:05}", {"do": "examine", "url": url, "mark": storage.mark(url)}, (), ())
        for number, url in enumerate(urls)
    ]
    found = run.stage(stage, tasks)
    return [File(url, done.facts["digest"], done.facts["bytes"]) for url, done in zip(urls, found, strict=True)]


def is_graph_file(run: Run, url: str) -> bool:
    """Whether a file is one, by its first bytes."""
    fs, path = run.out.storage.open(url)
    return bytes(fs.cat_file(path, start=0, end=len(MAGIC))) == MAGIC


def from_graph_file(run: Run, file: File, shards: int, name: str = "") -> Prepared:
    """A graph that is in one file already. `name` tells several graphs of a run apart."""
    stage = f"check{name}"
    (done,) = run.stage(stage, [Task(stage, "graph", {"do": "check-graph"}, (file,), ())])
    facts = done.facts
    return Prepared(facts["num_nodes"], facts["num_edges"], facts["weighted"], divided(facts["num_nodes"], shards), file, None)


def divided(count: int, shards: int) -> list[tuple[int, int]]:
    """Blocks of as many rows each, but the last."""
    size = -(-count // shards)
    return [(start, min(start + size, count)) for start in range(0, count, size)]


def cut(run: Run, graph: Prepared, name: str = "") -> Prepared:
    """With a file for each block of rows. `name` tells several graphs of a run apart."""
    if graph.blocks is not None:
        return graph
    assert graph.graph is not None
    stage = f"blocks{name}"
    tasks = [
        Task(stage, f"{number:05}", {"do": "cut-block", "rows": rows}, (graph.graph,), (f"work/{stage}/{number:05}.block",))
        for number, rows in enumerate(graph.rows)
    ]
    blocks = [done.files[0] for done in run.stage(stage, tasks)]
    return Prepared(graph.num_nodes, graph.num_edges, graph.weighted, graph.rows, graph.graph, blocks)


def joined(run: Run, graph: Prepared) -> Prepared:
    """With one graph file."""
    if graph.graph is not None:
        return graph
    assert graph.blocks is not None
    (done,) = run.stage("graph", [Task("graph", "graph", {"do": "join-blocks"}, tuple(graph.blocks), ("graph.nigh",))])
    return Prepared(graph.num_nodes, graph.num_edges, graph.weighted, graph.rows, done.files[0], graph.blocks)


def from_edges(run: Run, files: Sequence[File], columns: dict[str, str | None], shards: int) -> Prepared:
    """Ids to numbers, edges to blocks of rows, and each block sorted and cleaned."""
    tasks = [
        Task("ids", f"{number:05}", {"do": "read-edges", **columns}, (file,), (f"work/ids/{number:05}.part",))
        for number, file in enumerate(files)
    ]
    read = run.stage("ids", tasks)
    kind, weighted = _agreed(files, read)
    parts = [done.files[0] for done in read]

    bounds = _bounds(read, kind, shards)
    tasks = [
        Task(
            "numbers", f"{number:05}", {"do": "merge-ids", "kind": kind, "from": start, "to": end}, tuple(parts),
            (f"work/numbers/{number:05}.ids",),
        )
        for number, (start, end) in enumerate(zip([None, *bounds], [*bounds, None], strict=True))
    ]  # fmt: skip
    merged = run.stage("numbers", tasks)
    counts = [done.facts["count"] for done in merged]
    bases = [sum(counts[:number]) for number in range(len(counts))]
    num_nodes = sum(counts)
    if num_nodes >= MOST_NODES:
        raise InputError(f"{num_nodes} nodes; there can be {MOST_NODES - 1}")
    ids = [done.files[0] for done in merged]

    rows = divided(num_nodes, shards)
    tasks = [
        Task(
            "entries", f"{number:05}", {"do": "route-edges", "kind": kind, "bases": bases, "block_rows": rows[0][1]},
            (part, *ids), tuple(f"work/entries/{number:05}/{block:05}.entries" for block in range(len(rows))),
        )
        for number, part in enumerate(parts)
    ]  # fmt: skip
    routed = run.stage("entries", tasks)

    # Nodes that are 0, 1, ... need no names.
    present = [done.facts for done in merged if done.facts["count"]]
    is_counted = kind == "integers" and present[0]["first"] == 0 and present[-1]["last"] == num_nodes - 1
    tasks = []
    for number, (start, end) in enumerate(rows):
        overlapping = [
            shard for shard in range(len(ids)) if not is_counted and bases[shard] < end and bases[shard] + counts[shard] > start
        ]
        what = {
            "do": "build-block", "rows": [start, end], "num_nodes": num_nodes, "weighted": weighted,
            "bases": [bases[shard] for shard in overlapping],
        }  # fmt: skip
        inputs = *(ids[shard] for shard in overlapping), *(done.files[number] for done in routed)
        tasks.append(Task("blocks", f"{number:05}", what, inputs, (f"work/blocks/{number:05}.block",)))
    built = run.stage("blocks", tasks)
    num_edges = sum(done.facts["entries"] for done in built) // 2
    if num_edges == 0:
        raise InputError("no edge between two different nodes; message passing needs some")
    _note_cleaning([*read, *built])
    return Prepared(num_nodes, num_edges, weighted, rows, None, [done.files[0] for done in built])


def _agreed(files: Sequence[File], read: Sequence[Done]) -> tuple[str, bool]:
    """What ids are, and whether edges have weights, in all parts."""
    of = [done.facts for done in read]
    for file, facts in zip(files, of, strict=True):
        if facts["weighted"] != of[0]["weighted"]:
            [has, lacks] = [files[0].url, file.url] if of[0]["weighted"] else [file.url, files[0].url]
            raise InputError(f"{has} has weights, but {lacks} has none; weight=False leaves them out")
    kind = "names" if any(facts["kind"] == "names" for facts in of) else "integers"
    for file, facts in zip(files, of, strict=True):
        if kind == "names" and facts["respelled"]:
            named = next(other.url for other, facts in zip(files, of, strict=True) if facts["kind"] == "names")
            raise InputError(
                f"{file.url} has whole numbers such as 7.0 as ids, and {named} has names; write ids in one way"
            )
    note(dict.fromkeys(remark for facts in of for remark in facts["notes"]))
    return kind, of[0]["weighted"]


def _bounds(read: Sequence[Done], kind: str, shards: int) -> list[Any]:
    """Where ranges of ids begin, but for the first: where they have about as many ids each."""
    weighted = [
        (str(sample) if kind == "names" else sample, done.facts["num_ids"] / len(done.facts["samples"]))
        for done in read
        for sample in done.facts["samples"]
    ]
    weighted.sort()
    total, passed = sum(weight for _, weight in weighted), 0.0
    bounds: list[Any] = []
    for sample, weight in weighted:
        # A name and the same with a fraction, such as 7 and 7.0, belong to one range, which compares them.
        bound = sample.split(".")[0] if kind == "names" else sample
        if passed >= total * (len(bounds) + 1) / shards and (not bounds or bound > bounds[-1]):
            bounds.append(bound)
        passed += weight
    return bounds[: shards - 1]


def _note_cleaning(done: Sequence[Done]) -> None:
    duplicates, loops = (sum(each.facts[what] for each in done) for what in ("duplicates", "self_loops"))
    remarks = []
    if duplicates:
        remarks.append(f"{duplicates} repeated edges (either direction) were merged")
    if loops:
        remarks.append(f"{loops} self loops were dropped; the operator gives every node its own")
    note(remarks)
