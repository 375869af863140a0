"""`Graph`: edges and what is known of their ends, from whatever a user has."""

from __future__ import annotations

import html
import os
from collections.abc import Mapping
from typing import Any

import numpy as np

from . import _inputs, _nigh
from ._errors import FileError, InputError, note

FILE_OPTIONS = (
    "source", "target", "weight", "id", "label", "label_separator", "graph_column", "node_id", "feature_id", "label_id",
)  # fmt: skip


class Graph:
    """A graph with what is known of its nodes.

    Parameters
    ----------
    edges : array, sparse matrix, graph, frame, path or name
        A NumPy array of 2 × M (PyG's ``edge_index``) or M × 2 ids; a list of pairs; a SciPy sparse adjacency matrix; a
        graph of networkx or DGL; a ``Data`` of PyTorch Geometric; a pandas or polars frame, or anything with
        ``__arrow_c_stream__``, whose columns are called ``source`` and ``target`` or are the first two; the path of a
        file in any format that the program reads; or the name of a dataset, such as ``"cora"``.
    features : array, sparse matrix, frame, dict or names of attributes, optional
        A row per node. Rows are matched by id where there is one: a column ``id`` or an index of a frame, the keys of a
        dict. Otherwise row ``i`` is of node ``i``, or of the ``i``-th of `nodes`.
    labels : array, series, frame, dict or name of an attribute, optional
        One class per node, matched as features are; lists or columns of 0 and 1 for several. ``None``, NaN and negative
        numbers are no label.
    nodes : int or ids, optional
        All nodes, also those without an edge: how many (ids 0, 1, ...), or their ids in order.
    weight : array, name or False, optional
        A positive weight per edge, the column or attribute that has it, or ``False`` for none. By default weights are used
        where the edges call them so.
    source, target : str, optional
        The columns of a frame or file that hold the ends of edges.
    name : str, optional
        What the graph is called in messages and model cards.
    data : path, optional
        The folder of the public datasets; by default the environment variable ``NIGH_DATA`` or the user's cache.
    threads : int, optional
        By default one per core.
    **columns : str
        For files: which column is what, by the names of the program's options (``label``, ``id``, ``feature_id``, ...).

    Examples
    --------
    >>> import nigh
    >>> graph = nigh.Graph([("ann", "bob"), ("bob", "cem"), ("cem", "ann")], labels={"ann": 1, "bob": 0})
    >>> graph
    <nigh.Graph 'graph': 3 nodes, 3 edges, 2 classes>
    >>> graph.ids
    ['ann', 'bob', 'cem']
    """

    _native: _nigh.Graph

    def __init__(
        self,
        edges: Any,
        *,
        features: Any = None,
        labels: Any = None,
        nodes: Any = None,
        weight: Any = None,
        source: str | None = None,
        target: str | None = None,
        name: str | None = None,
        data: str | os.PathLike[str] | None = None,
        threads: int | None = None,
        **columns: str,
    ) -> None:
        unknown = next((option for option in columns if option not in FILE_OPTIONS), None)
        if unknown is not None or (columns and not _inputs.is_path(edges)):
            wrong = unknown or next(iter(columns))
            raise TypeError(f"Graph has no argument {_inputs.shown(wrong)} here; for files there are {', '.join(FILE_OPTIONS)}")
        if isinstance(edges, Graph):
            raise InputError("this is a graph already")
        if _inputs.is_path(edges):
            if name is not None:
                raise InputError("the edges are in a file or have a name already; `name` is for those in memory")
            files = {"features": features, "labels": labels, "nodes": nodes}
            self._native = _read(edges, files, {**columns, "source": source, "target": target, "weight": weight}, data, threads)
        else:
            given = _inputs.edges(edges, weight, source, target)
            attributes = given.pop("attributes", None)
            own = given.pop("own_features", None), given.pop("own_labels", None)
            features = own[0] if features is None else features
            labels = own[1] if labels is None else labels
            if nodes is not None:
                given.pop("num_nodes", None)
                given.update(_inputs.node_list(nodes))
            if features is not None:
                given.update(_inputs.features(features, attributes))
            if labels is not None:
                given.update(_inputs.labels(labels, attributes))
            given["name"] = name or "graph"
            self._native = _nigh.Graph.from_columns(given, _inputs.threads(threads))
        note(self._native.notes)

    @property
    def name(self) -> str:
        """What the graph is called."""
        return self._native.name

    @property
    def num_nodes(self) -> int:
        """N."""
        return self._native.num_nodes

    @property
    def num_edges(self) -> int:
        """M, each edge counted once."""
        return self._native.num_edges

    @property
    def num_features(self) -> int:
        """Features per node, 0 for none."""
        return self._native.num_features

    @property
    def class_names(self) -> list[str]:
        """The name of each class."""
        return self._native.class_names

    @property
    def feature_names(self) -> list[str]:
        """The name of each feature, if they have any."""
        return self._native.feature_names

    @property
    def notes(self) -> list[str]:
        """Remarks on what was read and cleaned."""
        return self._native.notes

    @property
    def ids(self) -> np.ndarray[Any, Any] | list[str]:
        """The ids of the nodes, in their order: an array of integers, or a list of texts."""
        return self._native.ids()

    @property
    def labels(self) -> np.ndarray[Any, Any] | None:
        """The number of each node's class, -1 for none; a row of 0 and 1 per node where nodes may have several."""
        return self._native.labels()

    @property
    def degrees(self) -> np.ndarray[Any, Any]:
        """The number of neighbours of each node."""
        return self._native.degrees()

    @property
    def edge_index(self) -> np.ndarray[Any, Any]:
        """Every edge once, 2 × M, as places of its ends in `ids`."""
        return self._native.edges().T

    @property
    def digest(self) -> str:
        """A fingerprint of nodes, edges and weights."""
        return self._native.digest()

    def _with(self, native: _nigh.Graph) -> Graph:
        graph = Graph.__new__(Graph)
        graph._native = native
        return graph

    def __repr__(self) -> str:
        parts = [_count(self.num_nodes, "node"), _count(self.num_edges, "edge")]
        parts += [f"{self._native.num_graphs} graphs"] if self._native.num_graphs > 1 else []
        parts += [_count(self.num_features, "feature")] if self.num_features else []
        parts += [_count(len(self.class_names), "class", "classes")] if self.class_names else []
        return f"<nigh.Graph {self.name!r}: {', '.join(parts)}>"

    def _repr_html_(self) -> str:
        degrees = self.degrees
        rows = {
            "nodes": f"{self.num_nodes:,}",
            "edges": f"{self.num_edges:,}" + (", weighted" if self._native.is_weighted else ""),
            "features": f"{self.num_features:,}" if self.num_features else "none",
            "classes": _classes(self),
            "degrees": f"{degrees.min()} to {degrees.max():,}, mean {degrees.mean():.1f}, "
            f"{int((degrees == 0).sum()):,} nodes without an edge",
        }
        cells = "".join(f"<tr><th>{name}</th><td>{html.escape(value)}</td></tr>" for name, value in rows.items())
        return f"<table><caption>{html.escape(self.name)}</caption>{cells}</table>{_histogram(degrees)}"

    def __copy__(self) -> Graph:
        return self

    def __deepcopy__(self, memo: Any) -> Graph:
        # A graph never changes, so that estimators of scikit-learn and their clones share one.
        return self

    def __reduce__(self) -> Any:
        return _restored, (self._state(),)

    def _state(self) -> dict[str, Any]:
        """Columns that make this graph again."""
        native = self._native
        if native.num_graphs > 1:
            raise TypeError("a dataset of several graphs can't be pickled; load it again by its name or path")
        ends = native.edges()
        ids = native.ids()
        names = np.array(ids, dtype=object) if isinstance(ids, list) else ids
        end = (lambda column: names[column].tolist()) if isinstance(ids, list) else (lambda column: names[column])
        state: dict[str, Any] = {"source": end(ends[:, 0]), "target": end(ends[:, 1]), "nodes": ids, "directed": False}
        state.update(name=native.name, weights=native.weights(), feature_names=native.feature_names)
        state.update(features=native.features(), class_names=native.class_names, **self._label_columns())
        state["signal_scale"], state["per_class"] = native.paper_defaults
        split = _nigh.given_split(native)
        return {"columns": state, "split": split}

    def _label_columns(self) -> dict[str, Any]:
        labels, classes = self.labels, self.class_names
        if labels is None:
            return {}
        if labels.ndim == 1:
            return {"labels": [classes[label] if label >= 0 else "" for label in labels.tolist()]}
        found = _inputs.indicators(labels)
        return {**found, "labels": [classes[int(number)] for number in found["labels"]]}


def _read(edges: Any, files: Mapping[str, Any], columns: Mapping[str, Any], data: Any, threads: int | None) -> _nigh.Graph:
    options: dict[str, Any] = dict(columns)
    if options["weight"] is False:
        options["weight"] = "none"
    if options["weight"] is not None and not isinstance(options["weight"], str):
        raise InputError("the edges are in a file; `weight` is the name of a column there, or False")
    for what, path in files.items():
        if path is not None and not _inputs.is_path(path):
            raise InputError(f"the edges are in a file, and so have to be the {what}; or load both and hand them over")
        options[what] = None if path is None else os.fspath(path)
    folder = None if data is None else os.fspath(data)
    try:
        return _nigh.Graph.load(os.fspath(edges), options, folder, _inputs.threads(threads))
    except InputError as error:
        # A word without a dot or a slash is a misspelt name rather than a file.
        paths = [os.fspath(path) for path in (edges, *files.values()) if path is not None]
        if any(set(path) & set("./\\") and not os.path.exists(path) for path in paths):
            raise FileError(str(error)) from None
        raise


def _restored(state: dict[str, Any]) -> Graph:
    graph = Graph.__new__(Graph)
    graph._native = _nigh.Graph.from_columns(state["columns"], None)
    if state["split"] is not None:
        graph._native = _nigh.with_split(graph._native, state["split"])
    return graph


def _count(count: int, one: str, several: str | None = None) -> str:
    return f"{count:,} {one if count == 1 else several or one + 's'}"


def _classes(graph: Graph) -> str:
    names = graph.class_names
    if not names:
        return "none"
    several = ", several per node" if graph._native.is_multi_label else ""
    shown = ", ".join(names[:8]) + (", ..." if len(names) > 8 else "")
    return f"{len(names)} ({shown}), {graph._native.num_labelled:,} nodes labelled{several}"


def _histogram(degrees: np.ndarray[Any, Any]) -> str:
    """Degrees in classes of powers of two, as bars."""
    powers = np.ceil(np.log2(degrees[degrees > 0].astype(float) + 1)).astype(int)
    counts = np.bincount(powers)[1:].tolist() if powers.size else []
    most = max(counts, default=1)
    bars = "".join(
        f'<rect x="{24 * at}" y="{40 - 40 * count / most:.1f}" width="20" height="{40 * count / most:.1f}">'
        f"<title>{2**at} to {2 ** (at + 1) - 1}: {count}</title></rect>"
        for at, count in enumerate(counts)
    )
    return f'<svg width="{24 * len(counts)}" height="40" fill="currentColor" role="img" aria-label="degrees">{bars}</svg>'
