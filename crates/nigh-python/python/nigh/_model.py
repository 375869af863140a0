"""`train`, `load`, and the models that they give."""

from __future__ import annotations

import html
import json
import os
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from . import _inputs, _nigh
from ._errors import FileError, InputError, note
from ._graph import Graph
from ._progress import Progress, Watch
from ._split import Split


def train(
    graph: Any,
    task: str | None = None,
    model: str | None = None,
    *,
    split: Any = None,
    progress: bool = True,
    callback: Callable[[Progress], Any] | None = None,
    threads: int | None = None,
    memory: int | str | None = None,
    **settings: Any,
) -> Model:
    """Trains a model.

    Parameters
    ----------
    graph : Graph, or anything that `Graph` takes
        With features and labels if there are any.
    task : str, optional
        ``"link-prediction"`` (the default), ``"node-classification"``, ``"pairwise-node-classification"`` or
        ``"graph-reconstruction"``.
    model : str, optional
        A model of the catalog (`models`); by default the one that answers the task best.
    split : Split or {"given", "random"}, optional
        A split of your own, or which one to take: that of the dataset, if it has one, or a new one for every repeat.
    progress : bool, default True
        Show a bar, where somebody looks.
    callback : callable, optional
        Called with a `Progress` after every epoch. Training stops when it returns ``True``, and keeps the best epoch so far;
        an exception that it raises ends the call.
    threads : int, optional
        By default one per core. The result is the same, to the last bit, on any number.
    memory : str or int, optional
        A limit such as ``"8GiB"``, or bytes. ``smp-proximity``, and models such as ``smp-linear`` with ``pairs_per_epoch``, keep to it by
        panels of columns and, if the graph is a graph file, edges on disk; other trainings that would take more are refused. The result
        is the same, to the last bit, under any limit.
    **settings
        Every setting of the program (`settings`), with ``_`` for ``-``: ``repeats=5``, ``epochs=...``, ``seed=1``, ...

    Returns
    -------
    Model
        That of the best repeat on its validation part.

    Examples
    --------
    >>> import nigh
    >>> model = nigh.train(nigh.Graph("communities"), model="smp-linear", epochs=40, repeats=1, progress=False)
    >>> model
    <nigh.Model smp-linear of 'communities': auc 99.3 % (link-prediction)>
    """
    graph = graph if isinstance(graph, Graph) else Graph(graph, threads=threads)
    settings = {"task": task, "model": model, **settings}
    if isinstance(split, Split):
        graph = graph._with(split._native_for(graph))
    elif split is not None:
        settings["split"] = split
    with Watch(progress, callback) as watch:
        trained, unused = _nigh.train(
            graph._native,
            {name: value for name, value in settings.items() if value is not None},
            watch if watch.listens else None,
            callback is not None,
            _inputs.threads(threads),
            _inputs.memory(memory),
        )
    if unused:
        has = "has" if len(unused) == 1 else "have"
        note([f"{', '.join(unused)} {has} no effect on this training"])
    return Model(trained, graph)


def load(folder: str | os.PathLike[str], graph: Any = None) -> Model:
    """Reads a model that `Model.save` or the program wrote.

    Parameters
    ----------
    folder : path
    graph : Graph, or anything that `Graph` takes, optional
        The graph on which it is used, unless a call names another.
    """
    graph = graph if graph is None or isinstance(graph, Graph) else Graph(graph)
    if not os.path.exists(folder):
        raise FileError(f"{os.fspath(folder)}: there is no such folder; expected the folder of a saved model")
    return Model(_nigh.Model.load(os.fspath(folder)), graph)


#: Links that a notebook shows at most.
SHOWN_LINKS = 50


@dataclass(frozen=True, eq=False)
class Links:
    """The most likely links of a node, best first; or those of several nodes, one node after the other."""

    #: The node, or the list of nodes.
    node: Any
    #: The node at the other end of each.
    ids: np.ndarray[Any, Any] | list[str]
    #: The score of each.
    scores: np.ndarray[Any, Any]
    #: Whether the graph has it already.
    exists: np.ndarray[Any, Any]
    #: The node of each, where the links of several nodes were asked for; ``None`` for those of one.
    sources: np.ndarray[Any, Any] | list[str] | None = None

    def __len__(self) -> int:
        return len(self.scores)

    def __repr__(self) -> str:
        if self.sources is not None:
            return f"<links of {len(self.node):,} nodes: {len(self):,} in all>"
        pairs = zip(self.ids, self.scores.tolist())
        shown = ", ".join(f"{id!s} ({score:.3f})" for id, score in pairs)
        return f"<links of {self.node!r}: {shown}>"

    def _columns(self) -> dict[str, Any]:
        sources = {} if self.sources is None else {"source": self.sources}
        return {**sources, "id": self.ids, "score": self.scores, "exists": self.exists}

    def to_pandas(self) -> Any:
        """A frame with the columns ``id``, ``score`` and ``exists``, and ``source`` in front for several nodes."""
        import pandas

        return pandas.DataFrame(self._columns())

    def _repr_html_(self) -> str:
        columns = {name: list(values[:SHOWN_LINKS]) for name, values in self._columns().items()}
        columns["score"] = [f"{score:.4f}" for score in columns["score"]]
        columns["exists"] = ["yes" if exists else "no" for exists in columns["exists"]]
        more = len(self) - SHOWN_LINKS
        note = f"<p>and {more:,} more</p>" if more > 0 else ""
        about = "" if self.sources is not None else f"<p>links of {html.escape(str(self.node))}</p>"
        return f"{about}{_table(list(columns), zip(*columns.values()))}{note}"


class Model:
    """A trained model; `train` and `load` make them. Using it changes nothing, so one serves many threads."""

    def __init__(self, native: _nigh.Model, graph: Graph | None) -> None:
        self._native = native
        #: The graph on which it is used, unless a call names another.
        self.graph = graph

    @property
    def summary(self) -> dict[str, Any]:
        """Everything that the training found: figures, intervals, baselines, every repeat, and the settings."""
        found: dict[str, Any] = json.loads(self._native.summary())
        return found

    @property
    def settings(self) -> dict[str, Any]:
        """Every setting of the training, with all choices made."""
        return {name.replace("-", "_"): value for name, value in self.summary["config"].items()}

    @property
    def task(self) -> str:
        """The task that it was trained for."""
        return self._native.task

    @property
    def class_names(self) -> list[str]:
        """The classes, in the order of the columns of `predict_proba`."""
        return self._native.class_names

    @property
    def num_parameters(self) -> int:
        """How many numbers were trained."""
        return self._native.num_parameters

    @property
    def card(self) -> str:
        """What it is, what it was trained on and how good it is, as Markdown."""
        return self._native.card()

    @property
    def curve(self) -> np.ndarray[Any, Any]:
        """Every evaluation of the kept repeat, with the fields ``epoch``, ``loss``, ``valid`` and ``test``."""
        kinds = [("epoch", np.int64), ("loss", float), ("valid", float), ("test", float)]
        return np.array(self._native.curve(), dtype=kinds)

    def evaluate(
        self,
        graph: Any = None,
        *,
        split: Split | None = None,
        memory: int | str | None = None,
        threads: int | None = None,
    ) -> dict[str, Any]:
        """Measures again on the split of the training; held-out edges stay out of message passing.

        Parameters
        ----------
        graph : Graph, or anything that `Graph` takes, optional
            By default the graph of the model.
        split : Split, optional
            That of the training, if it was one of your own and the graph is another object.
        memory : str or int, optional
            A limit such as ``"8GiB"``, or bytes. The metrics are the same, to the last bit, under any.

        Returns
        -------
        dict
            ``valid`` and ``test`` in the metric of the training, every other in ``metrics``, and whether the figures are of
            the split of the training (``same_split``) and of what the model has not seen (``held_out``).
        """
        used = self._graph(graph)
        native = used._native if split is None else split._native_for(used)
        text, notes = self._native.evaluate(native, _inputs.memory(memory), _inputs.threads(threads))
        note(notes)
        found: dict[str, Any] = json.loads(text)
        return found

    def predict(
        self,
        *,
        node: Any = None,
        pairs: Any = None,
        nodes: Any = None,
        top: int = 10,
        existing: bool = False,
        graph: Any = None,
        memory: int | str | None = None,
        threads: int | None = None,
    ) -> Any:
        """Answers of the model.

        Parameters
        ----------
        node : id or list of ids, optional
            The `top` most likely links of this node, or of each of these; those that the graph has only with `existing`.
        pairs : array of 2 × M or M × 2 ids, list of pairs, or frame, optional
            The score of each pair; the larger, the more likely.
        nodes : ids, optional
            The class of each of these nodes, by name; a list of classes each where nodes may have several. By default, for a
            model of classes, all nodes.
        memory : str or int, optional
            A limit such as ``"8GiB"``, or bytes. Models that propagate before they learn, such as ``smp-proximity`` and ``smp-linear``,
            keep to it by panels of columns and files; others run in memory, and what would take more is refused. The answers are the
            same, to the last bit, under any limit.

        Returns
        -------
        Links, array of scores, or array of classes
        """
        if sum(given is not None for given in (node, pairs, nodes)) > 1:
            raise InputError("`node`, `pairs` and `nodes` are three questions; ask one")
        if node is not None:
            return self._links(node, top, existing, self._graph(graph), memory, threads)
        if pairs is not None:
            return self._scores(pairs, self._graph(graph), memory, threads)
        if self._native.answers_pairs and nodes is None:
            raise InputError(f"a model of {self.task} answers `node=` or `pairs=`")
        probabilities = self.predict_proba(nodes=nodes, graph=graph, memory=memory, threads=threads)
        names = np.array(self.class_names, dtype=object)
        if self._native.is_multi_label:
            return [names[row >= 0.5].tolist() for row in probabilities]
        return names[probabilities.argmax(axis=1)] if len(probabilities) else names[:0]

    def predict_proba(
        self,
        nodes: Any = None,
        *,
        pairs: Any = None,
        prior: float | None = None,
        graph: Any = None,
        memory: int | str | None = None,
        threads: int | None = None,
    ) -> np.ndarray[Any, Any]:
        """The probability of every class, a row per node and a column per class of `class_names`; or that of links.

        Rows of classes sum to one, unless nodes may have several classes. The probability of a link is the sigmoid of its score. It
        holds where links are as frequent as among the pairs of the training (half of them, unless ``negatives_per_positive`` says
        more); `prior` converts it to another share. Models whose scores are not logits, such as heuristics and those with
        ``decoder="cosine"``, have none.

        Parameters
        ----------
        nodes : ids, optional
            By default all nodes, in the order of the graph.
        pairs : array of 2 × M or M × 2 ids, list of pairs, or frame, optional
            The probability of each pair, by a model of links.
        prior : float, optional
            The share of `pairs` that you expect to be links.
        memory : str or int, optional
            A limit, as for `predict`.
        """
        if pairs is None and prior is not None:
            raise InputError("`prior` is the share of links among `pairs`, which are missing")
        if pairs is not None:
            if nodes is not None:
                raise InputError("`nodes` and `pairs` are two questions; ask one")
            used = self._graph(graph)
            source, target = _ends(pairs)
            limits = _inputs.memory(memory), _inputs.threads(threads)
            found, notes = self._native.link_probabilities(used._native, source, target, prior, *limits)
            note(notes)
            return found
        graph = self._graph(graph)
        rows, notes = self._native.probabilities(graph._native, _inputs.memory(memory), _inputs.threads(threads))
        note(notes)
        return rows if nodes is None else rows[graph._native.find(_inputs.ids(nodes, "nodes"))]

    def embed(self, graph: Any = None, *, memory: int | str | None = None, threads: int | None = None) -> Embedding:
        """A vector for every node, to search in or to feed on.

        Parameters
        ----------
        graph : Graph, or anything that `Graph` takes, optional
            By default the graph of the model.
        memory : str or int, optional
            A limit, as for `predict`. The vectors count; `embed_to` writes them without holding them.
        """
        used = self._graph(graph)._native
        embedding, notes = self._native.embed(used, _inputs.memory(memory), _inputs.threads(threads))
        note(notes)
        return Embedding(embedding)

    def embed_to(
        self,
        path: str | os.PathLike[str],
        graph: Any = None,
        *,
        memory: int | str | None = None,
        threads: int | None = None,
    ) -> list[Path]:
        """Writes the vectors of `embed` row by row, without holding them, for graphs beyond memory.

        Models that propagate before they learn, such as ``smp-proximity`` and ``smp-linear``, keep to a limit; others run in memory.

        Parameters
        ----------
        path : path
            ``.npy`` (ids beside it) or ``.parquet``.
        memory : str or int, optional
            A limit such as ``"8GiB"``, or bytes. The vectors are the same under any.

        Returns
        -------
        list of Path
            Every file that was written.
        """
        used = self._graph(graph)._native
        written, notes = self._native.embed_to(used, os.fspath(path), _inputs.memory(memory), _inputs.threads(threads))
        note(notes)
        return [Path(path) for path in written]

    def save(self, folder: str | os.PathLike[str]) -> None:
        """Writes a new folder, the same that the program writes; `load` and ``nigh predict`` read it."""
        self._native.save(os.fspath(folder))

    def _graph(self, graph: Any) -> Graph:
        if graph is None:
            graph = self.graph
        if graph is None:
            raise InputError("on which graph? A model that was loaded needs `graph=`")
        return graph if isinstance(graph, Graph) else Graph(graph)

    def _links(
        self, node: Any, top: int, existing: bool, graph: Graph, memory: int | str | None, threads: int | None
    ) -> Links:
        several = _is_list(node)
        wanted, most = _inputs.ids(node if several else [node], "nodes"), _inputs.count(top, "top")
        limits = _inputs.memory(memory), _inputs.threads(threads)
        found = self._native.links(graph._native, wanted, most, existing, *limits)
        ids, scores, exists, counts, notes = found
        note(notes)
        if not several:
            return Links(node, ids, scores, exists)
        if isinstance(wanted, list):
            sources: Any = [source for source, count in zip(wanted, counts) for _ in range(count)]
        else:
            sources = np.repeat(wanted, counts)
        return Links(list(wanted) if isinstance(wanted, list) else wanted.tolist(), ids, scores, exists, sources)

    def _scores(
        self, pairs: Any, graph: Graph, memory: int | str | None, threads: int | None
    ) -> np.ndarray[Any, Any]:
        source, target = _ends(pairs)
        limits = _inputs.memory(memory), _inputs.threads(threads)
        scores, notes = self._native.scores(graph._native, source, target, *limits)
        note(notes)
        return scores

    def __repr__(self) -> str:
        found = self.summary
        figure = f"{found['metric']} {100 * found['mean']:.1f} %"
        return f"<nigh.Model {found['model']} of {found['dataset']!r}: {figure} ({self.task})>"

    def _repr_html_(self) -> str:
        found = self.summary
        rows = {
            "model": f"{found['model']}, {self.num_parameters:,} parameters",
            "task": self.task,
            "graph": f"{found['dataset']}: {found['num_nodes']:,} nodes, {found['num_edges']:,} edges",
        }
        metrics, repeats = found["metrics"], len(found["repeats"])
        figures = [[found["model"], *(_figure(figure["mean"], figure["std"], repeats) for figure in metrics.values())]]
        left_out = ""
        for baseline in found["baselines"]:
            if baseline["left_out"] is not None:
                left_out += f"<p>{html.escape(baseline['name'])} is left out: {html.escape(baseline['left_out'])}</p>"
            else:
                of_metrics = (baseline["metrics"].get(name) for name in metrics)
                figures.append([baseline["name"], *("" if mean is None else _figure(mean, 0.0, 1) for mean in of_metrics)])
        table = _table(["test, %", *metrics], figures) + left_out if metrics else ""
        cells = "".join(f"<tr><th>{html.escape(name)}</th><td>{html.escape(text)}</td></tr>" for name, text in rows.items())
        warnings = "".join(f"<p>{html.escape(text)}</p>" for text in found["warnings"])
        card = f"<details><summary>model card</summary><pre>{html.escape(self.card)}</pre></details>"
        return f"<table>{cells}</table>{table}{warnings}{_curve_svg(self.curve)}{card}"

    def __getstate__(self) -> dict[str, Any]:
        return {"bytes": self._native.to_bytes(), "graph": self.graph}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self._native = _nigh.Model.from_bytes(state["bytes"])
        self.graph = state["graph"]


class Embedding:
    """Vectors with the ids of their nodes. ``np.asarray`` gives them without a copy."""

    def __init__(self, native: _nigh.Embedding) -> None:
        self._native = native

    @property
    def ids(self) -> np.ndarray[Any, Any] | list[str]:
        """The node of each row."""
        return self._native.ids()

    @property
    def graphs(self) -> list[str] | None:
        """The graph of each row, if there are several."""
        return self._native.graphs

    @property
    def vectors(self) -> np.ndarray[Any, Any]:
        """A row per node; read-only, since the array shares the memory of this object."""
        return self._native.array()

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns."""
        rows, columns = self.vectors.shape
        return rows, columns

    def __len__(self) -> int:
        return self.shape[0]

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray[Any, Any]:
        vectors = self.vectors
        if dtype is not None and vectors.dtype != dtype:
            if copy is False:
                raise ValueError(f"vectors are {vectors.dtype}; {np.dtype(dtype)} takes a copy")
            return vectors.astype(dtype)
        return vectors.copy() if copy else vectors

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        return self._native.__arrow_c_stream__(requested_schema)

    def write(self, path: str | os.PathLike[str]) -> list[Path]:
        """Writes ``.npy`` (ids beside it), ``.csv``, ``.parquet``, ``.safetensors``, or word2vec's ``.vec`` or ``.txt``.

        Returns
        -------
        list of Path
            Every file that was written.
        """
        return [Path(path) for path in self._native.write(os.fspath(path))]

    def to_pandas(self) -> Any:
        """A frame with the ids as its index."""
        import pandas

        columns = [f"h{column}" for column in range(self.shape[1])]
        return pandas.DataFrame(self.vectors, index=pandas.Index(self.ids, name="id"), columns=columns)

    def __repr__(self) -> str:
        rows, columns = self.shape
        return f"<nigh.Embedding: {rows:,} vectors of {columns}>"


def _is_list(node: Any) -> bool:
    """Whether several nodes were given, and not one id."""
    if isinstance(node, (str, bytes)) or not hasattr(node, "__len__"):
        return False
    return np.ndim(node) > 0


def _ends(pairs: Any) -> tuple[Any, Any]:
    """Both ends of pairs in any form."""
    if not _inputs.is_table(pairs):
        return _inputs.ends(pairs, "pairs")
    columns = _inputs.table(_inputs.Columns(pairs, "pairs"), False, None, None)
    return columns["source"], columns["target"]


def _figure(mean: float, std: float, repeats: int) -> str:
    """A mean and its deviation as percentages. One repeat has no deviation."""
    return f"{100 * mean:.1f} ± {100 * std:.1f}" if repeats > 1 else f"{100 * mean:.1f}"


def _table(heading: list[str], rows: Iterable[Iterable[Any]]) -> str:
    def line(cells: Iterable[Any], kind: str) -> str:
        return "<tr>" + "".join(f"<{kind}>{html.escape(str(cell))}</{kind}>" for cell in cells) + "</tr>"

    return f"<table>{line(heading, 'th')}{''.join(line(row, 'td') for row in rows)}</table>"


def _curve_svg(curve: np.ndarray[Any, Any]) -> str:
    """Loss and validation metric over the epochs."""
    if len(curve) < 2:
        return ""
    lines = []
    for name, colour in (("loss", "#888"), ("valid", "#07c")):
        values, epochs = curve[name], curve["epoch"].astype(float)
        width = values.max() - values.min() or 1.0
        xs = 300 * (epochs - epochs.min()) / (np.ptp(epochs) or 1.0)
        ys = 75 - 70 * (values - values.min()) / width
        points = " ".join(f"{x:.1f},{y:.1f}" for x, y in zip(xs, ys))
        label = f"{name}: {values.min():.3g} to {values.max():.3g}"
        lines.append(f'<polyline points="{points}" fill="none" stroke="{colour}"><title>{label}</title></polyline>')
        lines.append(f'<text x="305" y="{20 if name == "loss" else 40}" font-size="11" fill="{colour}">{label}</text>')
    return f'<svg width="460" height="80" role="img" aria-label="learning curve">{"".join(lines)}</svg>'
