"""What users call."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypedDict, cast

from .. import _nigh
from .._errors import InputError, note
from .._model import Model, load
from ._graph import Prepared, cut, divided, examined, from_edges, from_graph_file, is_graph_file, joined
from ._propagation import Columns, named, propagated, written
from ._requests import answered, outputs, slice_of
from ._run import Result, Run
from ._storage import File, Folder, Storage
from ._tasks import Task
from ._workers import RayWorkers, ThisProcess, Workers

if TYPE_CHECKING:
    from typing_extensions import Unpack


class Options(TypedDict, total=False):
    """How the edges are read, how the work is divided and who does it: arguments of every call.

    ``source_column``, ``target_column`` : the columns of the files that hold the ends of edges.

    ``weight`` : the column of weights, or ``False`` for none. By default weights are used where the files call them so.

    ``mode`` : ``"slices"`` of columns, for which a worker needs all edges and nothing from others; ``"rows"``, blocks of them, for which
    it needs the edges of a block, and all rows of a slice from the hop before; or ``"auto"``: slices where they fit `memory`.

    ``shards`` : ranges of ids and blocks of rows, 16.

    ``slice_width`` : columns of a slice, 32. Narrower ones take less memory and more time per column, and occupy more workers.

    ``format`` : of the parts: ``"parquet"`` with columns ``id, h0, h1, ...``, or ``"npy"`` with ids beside them; of scores ``"parquet"`` or
    ``"csv"``.

    ``num_workers`` : how many tasks run at a time; by default as many as the cluster has CPUs for. 0 is this process, without Ray.

    ``cpus_per_worker`` : threads of a task, 1.

    ``memory`` : of a worker, such as ``"8GiB"``: decides the mode, and is asked of Ray for every task.

    ``max_retries`` : how often a task is done again whose worker is lost, 3.

    ``cache`` : where a machine keeps copies of files from file systems that are neither local nor shared.

    ``storage_options`` : what fsspec needs to open the source and the folder.

    ``keep_files`` : whether files between stages stay in ``work`` when all is done.

    ``progress`` : shows stages on stderr, which is the default.
    """

    source_column: str | None
    target_column: str | None
    weight: str | bool | None
    mode: str
    shards: int
    slice_width: int
    format: str
    num_workers: int | None
    cpus_per_worker: int
    memory: str | int | None
    max_retries: int
    cache: str | os.PathLike[str] | None
    storage_options: dict[str, Any] | None
    keep_files: bool
    progress: bool


DEFAULTS: Options = {
    "source_column": None, "target_column": None, "weight": None, "mode": "auto", "shards": 16, "slice_width": 32,
    "format": "parquet", "num_workers": None, "cpus_per_worker": 1, "memory": None, "max_retries": 3, "cache": None,
    "storage_options": None, "keep_files": False, "progress": True,
}  # fmt: skip
#: Those that decide what is written. The others may differ when a run goes on.
DECISIVE = ("source_column", "target_column", "weight", "mode", "shards", "slice_width", "format")
CHOICES = {"mode": ("auto", "slices", "rows"), "format": ("parquet", "npy", "csv")}
RANGES = {"shards": (1, 1 << 12), "slice_width": (1, 1 << 16), "cpus_per_worker": (1, 1024), "max_retries": (0, 1000)}

Path = str | os.PathLike[str]


def propagate(
    source: Path,
    out: Path,
    *,
    signal_dim: int = 32,
    hops: int = 2,
    hop_storage: str = "float32",
    signal: str = "gaussian",
    seed: int = 1,
    **options: Unpack[Options],
) -> Result:
    """Propagates a stochastic matrix over a graph of any size, as ``nigh propagate`` does on one machine.

    Parameters
    ----------
    source : path or URL
        A file, folder or glob of edges in any format that the program reads, or one graph file (``*.nigh``). A file of edges
        has to fit a worker.
    out : path or URL
        A folder of this run alone, for ``part-*.parquet`` or ``part-*.npy``, ``graph.nigh`` and ``result.json``. All machines have to
        see it, and the source, under this name.
    signal_dim, hops, hop_storage, signal, seed
        The settings of ``nigh propagate``.
    **options
        Those of `Options`.
    """
    _check_range("signal_dim", signal_dim, 1, 1 << 16)
    _check_range("hops", hops, 1, 64)
    if hop_storage not in ("float32", "float16"):
        raise InputError(f"`hop_storage` is {hop_storage!r}, but it can be float32 or float16")
    matrix = json.loads(_nigh.drawn_signal(signal, seed, signal_dim))
    settings = {"signal_dim": signal_dim, "hops": hops, "hop_storage": hop_storage, "signal": signal, "seed": seed}
    with Call("propagate", source, out, settings, options) as call:
        if call.finished is not None:
            return call.finished
        graph, mode = call.graph(hops, hop_storage, signal_dim)
        columns = propagated(call.run, graph, mode, matrix, hops, hop_storage, call.options["slice_width"])
        parts, digest = written(call.run, graph, columns, call.options["format"])
        return call.finish(parts, digest, graph, mode)


def embed(
    model: Model | Path, source: Path, out: Path, *, features: Path | None = None, **options: Unpack[Options]
) -> Result:  # fmt: skip
    """The representations of a model for all nodes of the graph of its training, as ``nigh embed`` gives them on one machine.

    Parameters
    ----------
    model : nigh.Model or path
        A model whose message passing comes first: the default for links, ``smp-linear`` and others that ``nigh models`` shows.
    source, out, **options
        Those of `propagate`.
    features : path or URL
        Features of the nodes in any format that the program reads, if the model was trained with some. They have to fit a worker.
    """
    native = (model if isinstance(model, Model) else load(model))._native
    passing, content = json.loads(native.message_passing()), native.to_bytes()
    if passing is None:
        return _embed_compared(content, source, out, features, options)
    hops, storage, dim = passing["hops"], passing["storage"], passing["matrix"]["dim"]
    if features is None and (passing["features"] or {}).get("matrix") == "features":
        raise InputError(f"the model was trained with {passing['features']['dim']} features of each node; features=FILE has to give them")
    settings = {"model": hashlib.sha256(content).hexdigest()}
    with Call("embed", source, out, settings, options, features) as call:
        if call.finished is not None:
            return call.finished
        stored = call.store("work/model/model.zip", content)
        graph, mode = call.graph(hops, storage, dim, one_file=features is not None)
        matrix = None
        if features is not None:
            graph, matrix = call.read_features(graph, stored)
            graph = cut(call.run, graph, "-features") if mode == "rows" else graph
        if graph.num_nodes != passing["num_nodes"]:
            known = passing["num_nodes"]
            raise InputError(f"the model knows {known} nodes, but the graph has {graph.num_nodes}; it has to be of this graph")
        tasks = [
            Task("match", f"{number:05}", {"do": "match-model", "rows": rows}, (stored, named(graph, number)), ())
            for number, rows in enumerate(graph.rows)
        ]
        call.run.stage("match", tasks)
        columns, of_features = call.passed(graph, mode, passing, matrix, "")
        parts, digest = written(call.run, graph, columns, call.options["format"], stored, of_features)
        return call.finish(parts, digest, graph, mode)


def _embed_compared(content: bytes, source: Path, out: Path, features: Path | None, options: Options) -> Result:
    """Vectors of a model that compares pairs: blocks of several hops side by side."""
    with Call("embed", source, out, {"model": hashlib.sha256(content).hexdigest()}, options, features) as call:
        if call.finished is not None:
            return call.finished
        asked = _Asked.of(call, content, ())
        form, ranges = call.options["format"], divided(asked.num_nodes, call.options["shards"])
        parts = [f"part-{number:05}.{form}" for number in range(len(ranges))]
        outputs = tuple(name for part in parts for name in ((part, f"{part}.ids.txt") if form == "npy" else (part,)))
        files = asked.answer("rows", {"do": "write-vectors", "rows": ranges}, outputs)[:: len(outputs) // len(parts)]
        (done,) = call.run.stage("digest", [Task("digest", "rows", {"do": "digest-rows", "slices": 1}, files, ())])
        return call.finish(list(files), done.facts["sha256"], asked.graph, asked.mode)


def predict(
    model: Model | Path, source: Path, pairs: Path, out: Path, *, features: Path | None = None, **options: Unpack[Options]
) -> Result:  # fmt: skip
    """The scores of pairs, as ``nigh predict --pairs`` gives them on one machine: ``scores.parquet`` or ``scores.csv`` in `out`.

    Parameters
    ----------
    model, source, out, features, **options
        Those of `embed`; the format is ``"parquet"`` or ``"csv"``.
    pairs : path or URL
        A file of pairs in any format that ``nigh predict`` reads. It has to fit a worker.

    Returns
    -------
    Result
        Its digest is that of the file.
    """
    native = (model if isinstance(model, Model) else load(model))._native
    content = native.to_bytes()
    settings = {"model": hashlib.sha256(content).hexdigest()}
    with Call("predict", source, out, settings, options, features, pairs) as call:
        if call.finished is not None:
            return call.finished
        asked = _Asked.of(call, content, tuple(examined(call.run, call.pair_urls, "pair-inputs")))
        files = asked.answer("scores", {"do": "score-pairs"}, (f"scores.{call.options['format']}",))
        digest = hashlib.sha256(call.files.local(files[0]).read_bytes()).hexdigest()
        return call.finish(list(files), digest, asked.graph, asked.mode)


@dataclass(frozen=True)
class _Asked:
    """A question to a model whose messages are passed by tasks."""

    call: Call
    graph: Prepared
    mode: str
    #: What tasks have to know of the question, and its files.
    what: dict[str, Any]
    given: tuple[File, ...]
    #: The requests and all rows.
    rows: list[File]
    width: int
    #: Of which there are vectors.
    num_nodes: int

    @staticmethod
    def of(call: Call, content: bytes, pairs: tuple[File, ...]) -> _Asked:
        """Finds out what is needed, and has it done."""
        width = slice_of(call.options["slice_width"])
        stored = call.store("work/model/model.zip", content)
        graph, mode = call.graph(2, "float32", width, one_file=True)
        assert graph.graph is not None
        what = {"given": {"features": bool(call.features), "pairs": bool(pairs), "memory": call.memory}}
        given = (stored, graph.graph, *call.features, *pairs)
        task = Task("requests", "00000", {"do": "request-answers", **what}, given, outputs("work/requests/00000"))
        (done,) = call.run.stage("requests", [task])
        note(done.facts["notes"])
        rows = answered(call.run, [done], mode, call.options["shards"], width)
        return _Asked(call, graph, mode, what, given, rows, width, done.facts["num_nodes"])

    def answer(self, stage: str, what: dict[str, Any], outputs: tuple[str, ...]) -> tuple[File, ...]:
        """The files that the answer writes."""
        task = Task(stage, "answer", {**what, **self.what, "width": self.width}, (*self.given, *self.rows), outputs)
        (done,) = self.call.run.stage(stage, [task])
        return done.files


def train(source: Path, out: Path, *, pairs_per_epoch: int = 0, features: Path | None = None, **settings: Any) -> Result:
    """Trains a model for links, as ``nigh train`` does on one machine: ``model`` in `out` is its folder.

    Parameters
    ----------
    source, out
        Those of `propagate`.
    pairs_per_epoch : int
        Positive pairs of an epoch; 0 for all. Models such as ``smp-linear`` need some.
    features : path or URL
        Features of the nodes in any format that the program reads. They have to fit a worker.
    **settings
        The settings of `nigh.train`, such as ``model`` and ``epochs``, and `Options`. The model is one whose message passing comes first:
        the default for links, ``smp-linear`` and others that ``nigh models`` shows.

    Returns
    -------
    Result
        Its digest is that of the model in one file, as ``nigh.Model`` is pickled.
    """
    options = cast(Options, {name: settings.pop(name) for name in list(settings) if name in DEFAULTS})
    settings = {"pairs_per_epoch": pairs_per_epoch, **settings}
    table, repeats = _nigh.training_settings(settings)
    with Call("train", source, out, json.loads(table), options, features) as call:
        if call.finished is not None:
            return call.finished
        width = slice_of(call.options["slice_width"])
        graph, mode = call.graph(2, "float32", width, one_file=True)
        assert graph.graph is not None
        given, what = (graph.graph, *call.features), {"settings": json.loads(table), "features": bool(call.features)}
        tasks = [
            Task(
                "requests", f"{repeat:05}", {"do": "request-training", "repeat": repeat, **what}, given,
                outputs(f"work/requests/{repeat:05}"),
            )
            for repeat in range(repeats)
        ]  # fmt: skip
        asked = call.run.stage("requests", tasks)
        note(asked[0].facts["notes"])
        rows = answered(call.run, asked, mode, call.options["shards"], width)
        what = {"do": "train-requested", "width": width, **what}
        (done,) = call.run.stage("model", [Task("model", "model", what, (*given, *rows), ("work/model/model.zip",))])
        content = call.files.local(done.files[0]).read_bytes()
        return call.finish(call.save_model(content), hashlib.sha256(content).hexdigest(), graph, mode)


@dataclass
class Call:
    """What all calls have in common: their options, the workers, the graph, and what is recorded."""

    command: str
    source: Path
    folder: Path
    settings: dict[str, Any]
    options: Options
    #: The user's file of features, if there is one.
    feature_file: Path | None = None
    #: The user's file of pairs, if there is one.
    pair_file: Path | None = None

    def __enter__(self) -> Call:
        self.options = _checked(self.options)
        given = self.options
        of_numbers, form = self.command != "predict", given["format"]
        if form == ("csv" if of_numbers else "npy"):
            other = "npy" if of_numbers else "csv"
            raise InputError(f"`format` is {form!r}, but {'vectors' if of_numbers else 'scores'} can be parquet or {other}")
        self.memory = None if given["memory"] is None else _nigh.memory_bytes(str(given["memory"]))
        cache = given["cache"]
        self.files = Storage(given["storage_options"] or {}, None if cache is None else os.path.abspath(cache))
        self.out = Folder.at(self.folder, self.files)
        self.urls = self.files.expand(os.fspath(self.source))
        self.feature_urls = self._one_file(self.feature_file, "features")
        self.pair_urls = self._one_file(self.pair_file, "pairs")
        self.features: list[File] = []
        self.lock = contextlib.ExitStack()
        self.lock.enter_context(self.out.locked())
        try:
            self._start()
        except BaseException:
            self.lock.close()
            raise
        return self

    def _one_file(self, file: Path | None, what: str) -> list[str]:
        urls = [] if file is None else self.files.expand(os.fspath(file))
        if len(urls) > 1:
            raise InputError(f"{file} has {len(urls)} files; {what} are expected in one")
        return urls

    def _start(self) -> None:
        given = self.options
        workers: Workers
        if given["num_workers"] == 0:
            workers = ThisProcess(given["cpus_per_worker"])
        else:
            workers = RayWorkers(given["num_workers"], given["cpus_per_worker"], self.memory, given["max_retries"])
        self.run = Run(self.out, workers, given["progress"])
        try:
            self._claim()
        except BaseException:
            workers.close()
            raise

    def __exit__(self, *error: object) -> None:
        self.run.workers.close()
        self.lock.close()

    def _claim(self) -> None:
        """Makes the folder that of this run, or goes on with it."""
        decisive = {name: value for name, value in self.options.items() if name in DECISIVE}
        source, features = ([[url, self.files.mark(url)] for url in urls] for urls in (self.urls, self.feature_urls))
        pairs = {"pairs": [[url, self.files.mark(url)] for url in self.pair_urls]} if self.pair_urls else {}
        self.run.claim({"command": self.command, **self.settings, **decisive, "source": source, "features": features, **pairs})
        self.finished = self.run.found()

    def graph(self, hops: int, storage: str, dim: int, one_file: bool = False) -> tuple[Prepared, str]:
        """The graph as the mode needs it, and the mode."""
        given = self.options
        columns = {
            "source": given["source_column"],
            "target": given["target_column"],
            "weight": "none" if given["weight"] is False else None if given["weight"] is True else given["weight"],
        }
        found = examined(self.run, self.urls)
        if self.feature_urls:
            self.features = examined(self.run, self.feature_urls, "feature-inputs")
        if len(self.urls) == 1 and is_graph_file(self.run, self.urls[0]):
            if any(value is not None for value in columns.values()):
                raise InputError(f"{self.urls[0]} is a graph file, whose columns were chosen when it was written")
            graph = from_graph_file(self.run, found[0], given["shards"])
        else:
            graph = from_edges(self.run, found, columns, given["shards"])
        mode = self._mode(graph, {"hops": hops, "storage": storage, "scale": None}, dim)
        if mode == "slices" or one_file:
            graph = joined(self.run, graph)
        return (cut(self.run, graph) if mode == "rows" and not one_file else graph), mode

    def _mode(self, graph: Prepared, hops: dict[str, Any], dim: int) -> str:
        """By slices where the edges fit a worker beside two panels."""
        given, memory = self.options, self.memory
        width, block_rows = min(given["slice_width"], dim), graph.rows[0][1]
        needed = _nigh.worker_memory(json.dumps(graph.counts()), json.dumps(hops), width, block_rows)
        of_modes = dict(zip(("slices", "rows"), needed, strict=True))
        mode = given["mode"]
        if mode == "auto":
            mode = "slices" if memory is None or of_modes["slices"] <= memory else "rows"
            self.run.tell(f"mode: {mode}; a worker takes {_shown(of_modes['slices'])} by slices, {_shown(of_modes['rows'])} by rows")
        if memory is not None and of_modes[mode] > memory:
            remedy = f" or more `shards` than {given['shards']} need less" if mode == "rows" else " needs less, and so may mode='rows'"
            raise InputError(
                f"`memory` is {_shown(memory)}, but a worker takes {_shown(of_modes[mode])} by {mode}; a smaller `slice_width` than "
                f"{width}{remedy}"
            )
        return mode

    def read_features(self, graph: Prepared, model: File) -> tuple[Prepared, File | None]:
        """The graph with all nodes that features name, and a row of features for each, if they are propagated."""
        assert graph.graph is not None
        task = Task(
            "features", "features", {"do": "read-features"}, (graph.graph, *self.features, model),
            ("graph-all-nodes.nigh", "work/features/features"),
        )  # fmt: skip
        (done,) = self.run.stage("features", [task])
        note(done.facts["notes"])
        files = {file.url.rsplit("/", 1)[-1]: file for file in done.files}
        if "graph-all-nodes.nigh" in files:
            graph = from_graph_file(self.run, files["graph-all-nodes.nigh"], self.options["shards"], "-features")
        return graph, files.get("features")

    def passed(
        self, graph: Prepared, mode: str, passing: dict[str, Any], features: File | None, name: str
    ) -> tuple[Columns, Columns | None]:
        """The message passing of a model: of the stochastic matrix, and of features or ones if it needs them."""
        hops, storage, width = passing["hops"], passing["storage"], self.options["slice_width"]
        columns = propagated(self.run, graph, mode, passing["matrix"], hops, storage, width, name)
        matrix = passing["features"]
        if matrix is None:
            return columns, None
        file = (features,) if features is not None and matrix["matrix"] == "features" else ()
        return columns, propagated(self.run, graph, mode, matrix, hops, storage, width, f"{name}-features", file)

    def store(self, name: str, content: bytes) -> File:
        """A file of this process's own making."""
        with self.out.partial() as folder:
            path = folder / "content"
            path.write_bytes(content)
            file = File(self.out.name(name), _nigh.file_digest(path), len(content), path.stat().st_mtime_ns)
            self.out.publish(path, name)
        return file

    def save_model(self, content: bytes) -> list[File]:
        """The folder of a model that is in one file."""
        saved = []
        with self.out.partial() as folder:
            _nigh.Model.from_bytes(content).save(folder / "model")
            for path in sorted((folder / "model").iterdir()):
                name = f"model/{path.name}"
                found = path.stat()
                saved.append(File(self.out.name(name), _nigh.file_digest(path), found.st_size, found.st_mtime_ns))
                self.out.publish(path, name)
        return saved

    def finish(self, parts: list[File], digest: str, graph: Prepared, mode: str) -> Result:
        """Records what was written, and removes what no one needs."""
        result = self.run.finish(parts, digest, graph.counts(), graph.graph, mode)
        self.out.remove("work/partial" if self.options["keep_files"] else "work")
        return result


def _checked(options: Options) -> Options:
    """With the defaults of what was not given."""
    unknown = next((name for name in options if name not in DEFAULTS), None)
    if unknown is not None:
        raise TypeError(f"there is no option {unknown!r}; there are {', '.join(DEFAULTS)}")
    given = cast(dict[str, Any], {**DEFAULTS, **options})
    for name, known in CHOICES.items():
        if given[name] not in known:
            raise InputError(f"`{name}` is {given[name]!r}, but it can be {', '.join(known[:-1])} or {known[-1]}")
    for name, (least, most) in RANGES.items():
        _check_range(name, given[name], least, most)
    if given["num_workers"] is not None:
        _check_range("num_workers", given["num_workers"], 0, 1 << 16)
    return cast(Options, given)


def _shown(size: int) -> str:
    return f"{size / (1 << 30):.1f} GiB" if size >= 1 << 30 else f"{size / (1 << 20):.0f} MiB"


def _check_range(name: str, value: int, least: int, most: int) -> None:
    if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
        raise InputError(f"`{name}` is {value!r}, but expected a whole number from {least} to {most}")


#: By the name of the command.
CALLS: dict[str, Callable[..., Result]] = {"propagate": propagate, "embed": embed, "predict": predict, "train": train}
