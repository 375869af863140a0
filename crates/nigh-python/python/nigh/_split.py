"""Splits of one's own, and ours as arrays."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from . import _inputs, _nigh
from ._errors import InputError
from ._graph import Graph


class Split:
    """Which nodes or pairs are for training, validation and test.

    `Split.nodes` and `Split.pairs` make one of your own, `split` hands out ours, and ``nigh.train(graph, split=...)`` uses it:
    the model learns from its training part, the best epoch is chosen by its validation part, and the figure is of its test part.
    """

    def __init__(self, parts: Mapping[str, Any], masks: bool = False, digest: str | None = None) -> None:
        self._parts = dict(parts)
        self._masks = masks
        #: A fingerprint, of splits that `split` made; the model card of a training on it has the same.
        self.digest = digest

    @classmethod
    def nodes(cls, *, train: Any, valid: Any, test: Any) -> Split:
        """A split of labelled nodes.

        Parameters
        ----------
        train, valid, test : ids, or boolean masks over all nodes as PyG has them
            No node may be in two parts.
        """
        parts = {"train": train, "valid": valid, "test": test}
        are_masks = [_is_mask(part) for part in parts.values()]
        if any(are_masks) and not all(are_masks):
            raise InputError("some parts of the split are masks and others are ids; give one kind")
        read = _mask if all(are_masks) else _inputs.ids
        return cls({name: read(part, f"the {name} part") for name, part in parts.items()}, masks=all(are_masks))

    @classmethod
    def pairs(cls, *, valid: Any, test: Any, train: Any = None) -> Split:
        """A split of edges.

        Parameters
        ----------
        valid, test : (positives, negatives)
            Pairs of ids, 2 × M or M × 2: held-out edges, and pairs without an edge; ``None`` for negatives that are to be
            drawn.
        train : pairs of ids, optional
            The edges that message passing may see and the model learns from; by default all edges of the graph. Held-out
            edges must not be among them: such a split is refused.
        """
        parts: dict[str, Any] = {}
        for name, part in {"valid": valid, "test": test}.items():
            if not isinstance(part, (tuple, list)) or len(part) != 2:
                raise InputError(f"`{name}` is {_inputs.shown(part)}; expected (positives, negatives), or None for the latter")
            for kind, pairs in zip(("positive", "negative"), part):
                if pairs is not None:
                    parts[f"{name}_{kind}"] = _inputs.ends(pairs, f"{kind} pairs of `{name}`")
        if train is not None:
            parts["train_edges"] = _inputs.ends(train, "training edges")
        return cls(parts)

    @classmethod
    def load(cls, folder: str | os.PathLike[str], graph: Graph) -> Split:
        """Reads the folder that ``nigh split`` or `save` wrote."""
        parts = _nigh.given_split(_nigh.with_split_folder(graph._native, os.fspath(folder)))
        assert parts is not None
        return cls(parts)

    def save(self, folder: str | os.PathLike[str], graph: Graph) -> None:
        """Writes a new folder, which ``nigh train GRAPH --split FOLDER`` takes as well."""
        _nigh.write_split(self._native_for(graph), os.fspath(folder))

    @property
    def parts(self) -> dict[str, Any]:
        """Every part by its name: ids of nodes; or arrays of M × 2 ids, or lists of pairs where ids are texts."""
        if self._masks or "train" in self._parts:
            return dict(self._parts)
        return {name: _pairs(*columns) for name, columns in self._parts.items()}

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_") or name not in self._parts:
            raise AttributeError(f"this split has no {name!r}; it has {', '.join(self.__dict__.get('_parts', {}))}")
        return self.parts[name]

    def __repr__(self) -> str:
        count = {name: len(part) for name, part in self.parts.items()}
        if self._masks:
            count = {name: int(part.sum()) for name, part in self._parts.items()}
        return f"<nigh.Split: {', '.join(f'{name} {number:,}' for name, number in count.items())}>"

    def _native_for(self, graph: Graph) -> _nigh.Graph:
        """The graph with this split."""
        parts = self._parts
        if self._masks:
            parts = {name: _chosen(graph, name, mask) for name, mask in parts.items()}
        return _nigh.with_split(graph._native, parts)


def split(graph: Any, *, task: str | None = None, seed: int = 1, threads: int | None = None, **settings: Any) -> Split:
    """The split that `train` makes with this seed, for use elsewhere.

    Parameters
    ----------
    graph : Graph, or anything that `Graph` takes
    task : {"link-prediction", "node-classification"}, optional
    seed : int
    **settings
        Those of `train` that a split depends on: ``valid_fraction``, ``test_fraction``, ``protocol``, ...

    Examples
    --------
    >>> import nigh
    >>> nigh.split(nigh.Graph("communities"), seed=1)
    <nigh.Split: train_edges 3,040, valid_positive 380, valid_negative 380, test_positive 380, test_negative 380>
    """
    graph = graph if isinstance(graph, Graph) else Graph(graph, threads=threads)
    given = {name: value for name, value in {"task": task, "seed": seed, **settings}.items() if value is not None}
    parts = _nigh.split(graph._native, given, _inputs.threads(threads))
    digest = parts.pop("digest")
    return Split(parts, digest=digest)


def _is_mask(part: Any) -> bool:
    return not isinstance(part, (str, bytes)) and isinstance(part, Iterable) and _inputs.plain(part, "parts").dtype.kind == "b"


def _mask(part: Any, what: str) -> np.ndarray[Any, Any]:
    mask = _inputs.plain(part, what)
    if mask.ndim != 1:
        raise InputError(f"{what} has the shape {mask.shape}; expected a mask with a value per node")
    return mask


def _chosen(graph: Graph, name: str, mask: np.ndarray[Any, Any]) -> Any:
    if len(mask) != graph.num_nodes:
        raise InputError(f"the {name} part has {len(mask)} values, and the graph {graph.num_nodes} nodes")
    ids = graph.ids
    return [id for id, chosen in zip(ids, mask.tolist()) if chosen] if isinstance(ids, list) else ids[mask]


def _pairs(source: Any, target: Any) -> Any:
    if isinstance(source, list):
        return list(zip(source, target))
    return np.stack([source, target], axis=1)
