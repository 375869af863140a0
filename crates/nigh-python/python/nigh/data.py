"""The datasets that have a name."""

from __future__ import annotations

import os
from pathlib import Path

from . import _nigh
from ._experiments import Table
from ._progress import Watch


def names() -> list[str]:
    """Every name that `nigh.Graph` takes.

    >>> import nigh
    >>> "cora" in nigh.data.names()
    True
    """
    return [name for name, _ in _nigh.datasets()]


def datasets() -> Table:
    """Every dataset and what it is."""
    return Table([{"name": name, "about": about} for name, about in _nigh.datasets()], {}, ("name", "about"))


def fetch(name: str, *, data: str | os.PathLike[str] | None = None, again: bool = False, progress: bool = True) -> Path:
    """Downloads a public dataset from its origin, checks it, and returns its folder.

    Parameters
    ----------
    name : str
    data : path, optional
        The folder to put it into; by default the environment variable ``NIGH_DATA`` or the user's cache.
    again : bool
        Also if it is there already.
    """
    with Watch(progress, None) as watch:
        return Path(_nigh.fetch(name, None if data is None else os.fspath(data), again, watch if watch.listens else None))
