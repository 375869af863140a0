"""`estimate`: what a run takes, before it is started."""

from __future__ import annotations

import json
import os
from typing import Any

from . import _inputs, _nigh
from ._errors import InputError
from ._graph import Graph


class Estimate(dict[str, Any]):
    """What runs take: parts in memory and on disk, plans, and the time; shown as ``nigh estimate`` shows it."""

    def __init__(self, found: dict[str, Any], text: str) -> None:
        super().__init__(found)
        self._text = text

    @property
    def plan(self) -> str:
        """How Ã^K E is computed: ``"in-memory"``, ``"panels"`` or ``"out-of-core"``."""
        way: str = self["propagation"]["way"]
        return way

    @property
    def parts(self) -> dict[str, int]:
        """Bytes of memory by part, of the propagation."""
        return {part["part"]: part["bytes"] for part in self["propagation"]["memory"]}

    @property
    def memory(self) -> dict[str, int]:
        """Bytes of memory by command, of those that fit the limit."""
        runs = {"propagate": self["propagation"], **self["runs"]}
        return {command: run["memory_bytes"] for command, run in runs.items() if run["fits"]}

    @property
    def seconds(self) -> float:
        """The time of the propagation, from a measurement on this machine."""
        seconds: float = self["propagation"]["seconds"]
        return seconds

    def __repr__(self) -> str:
        return self._text.rstrip()


def estimate(
    graph: Any = None,
    task: str | None = None,
    model: str | None = None,
    *,
    nodes: int | None = None,
    edges: int | None = None,
    memory: int | str | None = None,
    num_pairs: int = 100_000,
    **settings: Any,
) -> Estimate:
    """What propagation, training, evaluation, vectors and predictions take in memory and on disk, and how they would be done.

    Parameters
    ----------
    graph : Graph, or anything that `Graph` takes, optional
        With features and labels if there are any.
    task, model : str, optional
        As in `train`.
    nodes, edges : int, optional
        Counts, in place of a graph.
    memory : str or int, optional
        The limit to keep to, such as ``"8GiB"``, or bytes.
    num_pairs : int, default 100000
        Pairs to score.
    **settings
        As in `train`. The propagation takes 32 columns and 2 hops unless ``signal_dim`` and ``hops`` are given.

    Examples
    --------
    >>> import nigh
    >>> found = nigh.estimate(nodes=50_000_000, edges=1_000_000_000, memory="8GiB")
    >>> found.plan
    'out-of-core'
    >>> found["propagation"]["panel_width"], found["propagation"]["disk_bytes"]
    (16, 6400000000)
    >>> sorted(nigh.estimate("communities", model="gcn").memory)
    ['embed', 'evaluate', 'predict', 'propagate', 'train']
    """
    if (graph is None) == (nodes is None or edges is None):
        raise InputError("a graph, or `nodes` and `edges` in its place")
    name = os.fspath(graph) if isinstance(graph, (str, os.PathLike)) else None
    if graph is not None and name is None and not isinstance(graph, Graph):
        graph = Graph(graph)
    counts = [_inputs.count(value, what) for what, value in (("nodes", nodes or 0), ("edges", edges or 0))]
    for what in ("signal_dim", "hops", "width", "epochs", "pairs_per_epoch"):
        if isinstance(settings.get(what), float):
            settings[what] = _inputs.count(settings[what], what)
    found, text = _nigh.estimate(
        graph._native if isinstance(graph, Graph) else None,
        name,
        (counts[0], counts[1]),
        {"task": task, "model": model, **settings},
        _inputs.count(num_pairs, "num_pairs"),
        _inputs.memory(memory),
    )
    return Estimate(json.loads(found), text)
