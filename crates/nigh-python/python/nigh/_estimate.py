"""`estimate`: what a run takes, before it is started."""

from __future__ import annotations

import json
import os
from typing import Any

from . import _inputs, _nigh
from ._errors import InputError
from ._graph import Graph


class Estimate(dict[str, Any]):
    """What a run takes: parts in memory and on disk, the plan, and the time; shown as ``nigh estimate`` shows it."""

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
        """Bytes of memory by part."""
        return {part["part"]: part["bytes"] for part in self["propagation"]["memory"]}

    @property
    def seconds(self) -> float:
        """The time of the propagation, from a measurement on this machine."""
        seconds: float = self["propagation"]["seconds"]
        return seconds

    def __repr__(self) -> str:
        return self._text.rstrip()


def estimate(
    graph: Any = None,
    *,
    nodes: int | None = None,
    edges: int | None = None,
    memory: int | str | None = None,
    signal_dim: int = 32,
    hops: int = 2,
    hop_storage: str = "float32",
    width: int = 32,
    epochs: int = 1000,
    pairs_per_epoch: int = 0,
) -> Estimate:
    """What a run takes in memory, on disk and in time, and how it would be done.

    Parameters
    ----------
    graph : Graph, or anything that `Graph` takes, optional
        Of a graph file only the header is read.
    nodes, edges : int, optional
        Counts, in place of a graph.
    memory : str or int, optional
        The limit to keep to, such as ``"8GiB"``, or bytes.
    signal_dim, hops, hop_storage, width, epochs, pairs_per_epoch
        Settings of the run, as in `train`.

    Examples
    --------
    >>> import nigh
    >>> found = nigh.estimate(nodes=50_000_000, edges=1_000_000_000, memory="8GiB")
    >>> found.plan
    'out-of-core'
    >>> found["propagation"]["panel_width"], found["propagation"]["disk_bytes"]
    (16, 6400000000)
    """
    if (graph is None) == (nodes is None or edges is None):
        raise InputError("a graph, or `nodes` and `edges` in its place")
    name = os.fspath(graph) if isinstance(graph, (str, os.PathLike)) else None
    if graph is not None and name is None and not isinstance(graph, Graph):
        graph = Graph(graph)
    counts = [_inputs.count(value, what) for what, value in (("nodes", nodes or 0), ("edges", edges or 0))]
    numbers = {"signal_dim": signal_dim, "hops": hops, "width": width, "epochs": epochs, "pairs_per_epoch": pairs_per_epoch}
    checked = {what: _inputs.count(value, what) for what, value in numbers.items()}
    found, text = _nigh.estimate(
        graph._native if isinstance(graph, Graph) else None,
        name,
        (counts[0], counts[1]),
        checked["signal_dim"],
        checked["hops"],
        hop_storage,
        checked["width"],
        checked["epochs"],
        checked["pairs_per_epoch"],
        _inputs.memory(memory),
    )
    return Estimate(json.loads(found), text)
