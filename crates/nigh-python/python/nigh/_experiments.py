"""Comparisons, the tables of the paper, the catalog, and Theorem 2."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Sequence
from typing import Any

from . import _inputs, _nigh
from ._errors import note
from ._graph import Graph
from ._progress import Watch


class Table:
    """Rows of a result: a list of dictionaries that is shown as a table."""

    def __init__(self, rows: list[dict[str, Any]], details: dict[str, Any], shown: Sequence[str]) -> None:
        self.rows = rows
        #: Everything else that is known of the result.
        self.details = details
        self._shown = shown

    def to_pandas(self) -> Any:
        """The rows as a frame."""
        import pandas

        return pandas.DataFrame(self.rows)

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, row: int) -> dict[str, Any]:
        return self.rows[row]

    def __iter__(self) -> Iterator[dict[str, Any]]:
        return iter(self.rows)

    def _cells(self) -> list[list[str]]:
        return [[_cell(row.get(name)) for name in self._shown] for row in self.rows]

    def __repr__(self) -> str:
        lines = [list(self._shown), *self._cells()]
        widths = [max(len(line[at]) for line in lines) for at in range(len(self._shown))]
        return "\n".join("  ".join(cell.ljust(width) for cell, width in zip(line, widths)).rstrip() for line in lines)

    def _repr_html_(self) -> str:
        import html

        head = "".join(f"<th>{html.escape(name)}</th>" for name in self._shown)
        body = "".join("<tr>" + "".join(f"<td>{html.escape(cell)}</td>" for cell in row) + "</tr>" for row in self._cells())
        return f"<table><tr>{head}</tr>{body}</table>"


def _cell(value: Any) -> str:
    if value is None:
        return ""
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def compare(
    graph: Any,
    models: Sequence[str] = (),
    *,
    task: str | None = None,
    out: str | os.PathLike[str] | None = None,
    progress: bool = True,
    threads: int | None = None,
    memory: int | str | None = None,
    **settings: Any,
) -> Table:
    """Trains several models on the same splits, and tests whether their differences are more than chance.

    Parameters
    ----------
    graph : Graph, or anything that `Graph` takes
    models : names, optional
        By default those that the program compares.
    out : path, optional
        A file in which repeats are kept; a comparison that was stopped resumes from it.
    memory : str or int, optional
        A limit for each training, such as ``"8GiB"`` or bytes; see `train`. The result does not depend on it.

    Returns
    -------
    Table
        A row per model, the best first, with p-values against the best (paired t-test, and Holm's correction).
    """
    graph = graph if isinstance(graph, Graph) else Graph(graph, threads=threads)
    chosen = [models] if isinstance(models, str) else list(models)
    given = {name: value for name, value in {"task": task, **settings}.items() if value is not None}
    with Watch(progress, None) as watch:
        path, told = None if out is None else os.fspath(out), watch if watch.listens else None
        limits = _inputs.threads(threads), _inputs.memory(memory)
        text, notes = _nigh.compare(graph._native, chosen, given, path, told, *limits)
    note(notes)
    found = json.loads(text)
    rows = found.pop("models")
    return Table(rows, found, ("model", "mean", "std", "behind", "p", "p_holm", "seconds"))


def reproduce(
    table: str = "all",
    *,
    only: Sequence[str] = (),
    results: str | os.PathLike[str] = "experiments/results",
    epochs: int | None = None,
    repeats: int | None = None,
    data: str | os.PathLike[str] | None = None,
    progress: bool = True,
    threads: int | None = None,
) -> Table:
    """Trains what a table of the paper needs and has no record yet, and reports it beside the published figures.

    Parameters
    ----------
    table : str
        The name of a table, ``"all"``, ``"beyond"``, or a TOML file of your own.
    only : names, optional
        Datasets and models, by our names or by those of the paper.
    results : path
        The folder of the records. A record is written as soon as each repeat ends; what is there is not run again.
    epochs, repeats : int, optional
        Other numbers than those of the table.

    Returns
    -------
    Table
        As `report`.
    """
    names = [only] if isinstance(only, str) else list(only)
    folder = None if data is None else os.fspath(data)
    with Watch(progress, None) as watch:
        failed, elsewhere, notes = _nigh.reproduce(
            table, names, os.fspath(results), epochs, repeats, folder, watch if watch.listens else None, threads
        )
    note([*notes, *failed, *([f"{elsewhere} repeats are being run by another process"] if elsewhere else [])])
    return report(table, results=results, epochs=epochs, repeats=repeats)


def report(
    table: str = "all",
    *,
    results: str | os.PathLike[str] = "experiments/results",
    epochs: int | None = None,
    repeats: int | None = None,
) -> Table:
    """Tables of the paper, ours beside the published figures, from the records that `reproduce` keeps.

    Parameters
    ----------
    table : str
        The name of a table, ``"all"``, ``"beyond"``, or a TOML file of your own.
    results : path
        The folder of the records.

    Returns
    -------
    Table
        A row per figure, with ``ours``, ``theirs`` and the ``verdict``.
    """
    limits = [None if value is None else _inputs.count(value, name) for name, value in (("epochs", epochs), ("repeats", repeats))]
    text, notes = _nigh.report(table, os.fspath(results), *limits)
    note(notes)
    found = json.loads(text)
    rows = [_figure(figure) for one in found["tables"] for figure in one["figures"]]
    return Table(rows, {"summary": found["summary"]}, ("table", "row", "column", "ours", "theirs", "verdict"))


def _figure(figure: dict[str, Any]) -> dict[str, Any]:
    ours, theirs = figure.pop("ours"), figure.pop("theirs")
    sides = {"ours": ours, "theirs": theirs}
    means = {name: side.get("mean") if isinstance(side, dict) else side for name, side in sides.items()}
    stds = {f"{name}_std": side.get("std") if isinstance(side, dict) else None for name, side in sides.items()}
    return {**figure, **means, **stds}


def models() -> Table:
    """The catalog of models: what each is, whether it answers pairs and classes, and the tasks for which it trains within a
    memory limit, out of core (edges on disk) and on Ray; all others run in memory."""
    abilities = ("memory_limit", "out_of_core", "ray")
    rows = [
        {
            "model": name,
            "answers": "pairs, classes" if classes else "pairs",
            **{ability: ", ".join(tasks) for ability, tasks in zip(abilities, trained)},
            "about": about,
        }
        for name, classes, trained, about in _nigh.models()
    ]
    return Table(rows, {}, ("model", "answers", *abilities, "about"))


def settings() -> Table:
    """Every setting that `train` takes, with its group and its default: common settings first, those of a model under its name."""
    rows = [
        {"setting": name, "group": group, "default": default, "about": about}
        for name, group, default, about in _nigh.settings()
    ]
    return Table(rows, {}, ("setting", "group", "default", "about"))


def certify(
    graph: Any,
    *,
    epsilon: float = 0.1,
    delta: float = 0.05,
    hops: int = 2,
    signal: str = "gaussian",
    signal_dim: int | None = None,
    pairs: int = 1000,
    seed: int = 1,
    threads: int | None = None,
    memory: int | str | None = None,
) -> dict[str, Any]:
    """The width of E that Theorem 2 requires on a graph, and the error measured there.

    Parameters
    ----------
    memory : str or int, optional
        Memory to keep to, such as ``"8GiB"`` or bytes: in memory, in panels of columns, or out of core from a graph file. The
        result does not depend on it.

    Returns
    -------
    dict
        ``sufficient_width``, the width that was measured (``signal_dim``), and ``mean_error``, ``quantile_error``,
        ``max_error`` and ``share_within_epsilon`` of the pairs.
    """
    graph = graph if isinstance(graph, Graph) else Graph(graph, threads=threads)
    counts = [_inputs.count(value, name) for name, value in (("hops", hops), ("pairs", pairs), ("seed", seed))]
    width = None if signal_dim is None else _inputs.count(signal_dim, "signal_dim")
    text = _nigh.certify(
        graph._native,
        epsilon,
        delta,
        counts[0],
        signal,
        width,
        counts[1],
        counts[2],
        _inputs.threads(threads),
        _inputs.memory(memory),
    )
    found: dict[str, Any] = json.loads(text)
    return found
