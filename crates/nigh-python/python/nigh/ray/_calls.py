"""What users call."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from typing import Any

from .. import _nigh
from .._errors import InputError
from ._graph import Prepared, cut, examined, from_edges, from_graph_file, is_graph_file, joined
from ._propagation import propagated, written
from ._run import Result, Run, Stage
from ._storage import Folder, Storage
from ._workers import RayWorkers, ThisProcess, Workers

MODES = ("auto", "slices", "rows")
FORMATS = ("parquet", "npy")
#: Options of every call that change no bit of the result: they may differ when a run goes on.
WORKER_OPTIONS = ("num_workers", "cpus_per_worker", "memory", "max_retries", "cache", "storage_options", "keep_files", "progress")


def propagate(
    source: str | os.PathLike[str],
    out: str | os.PathLike[str],
    *,
    signal_dim: int = 32,
    hops: int = 2,
    hop_storage: str = "float32",
    signal: str = "gaussian",
    seed: int = 1,
    source_column: str | None = None,
    target_column: str | None = None,
    weight: str | bool | None = None,
    mode: str = "auto",
    shards: int = 16,
    slice_width: int = 16,
    format: str = "parquet",
    num_workers: int | None = None,
    cpus_per_worker: int = 1,
    memory: str | int | None = None,
    max_retries: int = 3,
    cache: str | os.PathLike[str] | None = None,
    storage_options: dict[str, Any] | None = None,
    keep_files: bool = False,
    progress: bool = True,
) -> Result:
    """Propagates a stochastic matrix over a graph of any size, as ``nigh propagate`` does on one machine.

    Parameters
    ----------
    source : path or URL
        A file, folder or glob of edges in any format that the program reads, or one graph file (``*.nigh``). A file of edges
        has to fit a worker.
    out : path or URL
        A folder of this run alone: ``part-*.parquet`` or ``part-*.npy``, ``graph.nigh``, ``result.json``. All machines have to see
        it, and the source, under this name.
    signal_dim, hops, hop_storage, signal, seed
        The settings of ``nigh propagate``.
    source_column, target_column : str, optional
        The columns of the files that hold the ends of edges.
    weight : str or False, optional
        The column of weights, or none. By default weights are used where the files call them so.
    mode : {"auto", "slices", "rows"}
        By slices of columns, for which a worker needs all edges and nothing from others; or by blocks of rows, for which it needs
        the edges of a block, and all rows of a slice from the hop before. ``"auto"`` takes slices where they fit `memory`.
    shards : int
        Ranges of ids and blocks of rows.
    slice_width : int
        Columns of a slice.
    format : {"parquet", "npy"}
        Of the parts: ``id, h0, h1, ...``, or arrays with ids beside them.
    num_workers : int, optional
        How many tasks run at a time; by default as many as the cluster has CPUs for. 0 is this process, without Ray.
    cpus_per_worker : int
        Threads of a task.
    memory : str or int, optional
        Of a worker, such as ``"8GiB"``: decides the mode, and is asked of Ray for every task.
    max_retries : int
        How often a task is done again whose worker is lost.
    cache : path, optional
        Where a machine keeps copies of files from file systems that are neither local nor shared.
    storage_options : dict, optional
        What fsspec needs to open the source and `out`.
    keep_files : bool
        Whether files between stages stay in the folder ``work`` of `out` when all is done.
    progress : bool
        Shows stages on stderr.

    Returns
    -------
    Result
    """
    given = dict(locals())
    _check_range("signal_dim", signal_dim, 1, 1 << 16)
    _check_range("hops", hops, 1, 64)
    if hop_storage not in ("float32", "float16"):
        raise InputError(f"`hop_storage` is {hop_storage!r}, but it can be float32 or float16")
    matrix = json.loads(_nigh.drawn_signal(signal, seed, signal_dim))

    def work(run: Run, graph: Prepared, chosen: str) -> tuple[Any, str]:
        columns = propagated(run, graph, chosen, matrix, hops, hop_storage, slice_width)
        return written(run, graph, columns, format)

    return _run("propagate", given, hops, hop_storage, signal_dim, work)


def _run(
    command: str, given: dict[str, Any], hops: int, storage: str, dim: int, work: Callable[[Run, Prepared, str], tuple[Any, str]]
) -> Result:
    """Everything but the propagation itself: the workers, the graph, and what is recorded."""
    _check_range("shards", given["shards"], 1, 1 << 12)
    _check_range("slice_width", given["slice_width"], 1, 1 << 16)
    _check_range("cpus_per_worker", given["cpus_per_worker"], 1, 1024)
    _check_range("max_retries", given["max_retries"], 0, 1000)
    if given["num_workers"] is not None:
        _check_range("num_workers", given["num_workers"], 0, 1 << 16)
    for name, known in (("mode", MODES), ("format", FORMATS)):
        if given[name] not in known:
            raise InputError(f"`{name}` is {given[name]!r}, but it can be {', '.join(known[:-1])} or {known[-1]}")
    memory = None if given["memory"] is None else _nigh.memory_bytes(str(given["memory"]))
    cache = given["cache"]
    files = Storage(given["storage_options"] or {}, None if cache is None else os.path.abspath(cache))
    out = Folder.at(given["out"], files)
    urls = files.expand(os.fspath(given["source"]))
    settings = {name: value for name, value in given.items() if name not in (*WORKER_OPTIONS, "source", "out")}
    settings = {"command": command, **settings, "source": [[url, files.mark(url)] for url in urls]}
    workers: Workers
    if given["num_workers"] == 0:
        workers = ThisProcess(given["cpus_per_worker"])
    else:
        workers = RayWorkers(given["num_workers"], given["cpus_per_worker"], memory, given["max_retries"])
    try:
        run = Run(out, workers, settings, given["progress"])
        finished = run.found()
        if finished is not None:
            return finished
        graph = _prepared(run, urls, given)
        mode = _mode(run, graph, given, memory, {"hops": hops, "storage": storage, "scale": None}, dim)
        graph = cut(run, graph) if mode == "rows" else joined(run, graph)
        parts, digest = work(run, graph, mode)
        result = run.finish(parts, digest, graph.counts(), graph.graph, mode)
        if not given["keep_files"]:
            out.remove("work")
        return result
    finally:
        workers.close()


def _prepared(run: Run, urls: list[str], given: dict[str, Any]) -> Prepared:
    columns = {
        "source": given["source_column"],
        "target": given["target_column"],
        "weight": "none" if given["weight"] is False else None if given["weight"] is True else given["weight"],
    }
    found = examined(run, urls)
    if len(urls) == 1 and is_graph_file(run, urls[0]):
        if any(value is not None for value in columns.values()):
            raise InputError(f"{urls[0]} is a graph file, whose columns were chosen when it was written")
        return from_graph_file(run, found[0], given["shards"])
    return from_edges(run, found, columns, given["shards"])


def _mode(run: Run, graph: Prepared, given: dict[str, Any], memory: int | None, hops: dict[str, Any], dim: int) -> str:
    """By slices where the edges fit a worker beside two panels."""
    width, block_rows = min(given["slice_width"], dim), graph.rows[0][1]
    needed = _nigh.worker_memory(json.dumps(graph.counts()), json.dumps(hops), width, block_rows)
    of_modes = dict(zip(("slices", "rows"), needed, strict=True))
    if given["mode"] != "auto":
        mode = str(given["mode"])
    else:
        mode = "slices" if memory is None or of_modes["slices"] <= memory else "rows"
        run.tell(f"mode: {mode}; a worker takes {_shown(of_modes['slices'])} by slices, {_shown(of_modes['rows'])} by rows")
    if memory is not None and of_modes[mode] > memory:
        raise InputError(
            f"`memory` is {_shown(memory)}, but a worker takes {_shown(of_modes[mode])} by {mode}; a smaller `slice_width` than {width}"
            + (f" or more `shards` than {given['shards']} need less" if mode == "rows" else " needs less, and so may mode='rows'")
        )
    return mode


def _shown(size: int) -> str:
    return f"{size / (1 << 30):.1f} GiB" if size >= 1 << 30 else f"{size / (1 << 20):.0f} MiB"


def _check_range(name: str, value: int, least: int, most: int) -> None:
    if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
        raise InputError(f"`{name}` is {value!r}, but expected a whole number from {least} to {most}")


__all__ = ["Result", "Stage", "propagate"]
