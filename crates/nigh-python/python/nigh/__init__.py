"""Stochastic Message Passing: graph neural networks that know where a node is and still what a node is.

>>> import nigh
>>> graph = nigh.Graph("communities")
>>> model = nigh.train(graph, model="smp-linear", epochs=40, repeats=1, progress=False)
>>> model.predict(node=7, top=3, existing=True).exists.tolist()
[True, True, True]
>>> model.embed().shape
(400, 32)
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from . import data
from ._errors import FileError, InputError, NighError, Note
from ._estimate import Estimate, estimate
from ._experiments import Table, certify, compare, models, report, reproduce, settings
from ._graph import Graph
from ._model import Embedding, Links, Model, load, train
from ._nigh import __version__
from ._progress import Progress
from ._split import Split, split

if TYPE_CHECKING:
    from ._estimators import Embedder, LinkPredictor, NodeClassifier

__all__ = [
    "Embedder",
    "Embedding",
    "Estimate",
    "FileError",
    "Graph",
    "InputError",
    "LinkPredictor",
    "Links",
    "Model",
    "NighError",
    "NodeClassifier",
    "Note",
    "Progress",
    "Split",
    "Table",
    "__version__",
    "certify",
    "compare",
    "data",
    "estimate",
    "load",
    "models",
    "report",
    "reproduce",
    "settings",
    "split",
    "train",
]


def __getattr__(name: str) -> Any:
    # Those of scikit-learn, which takes longer to import than all else.
    if name in ("Embedder", "LinkPredictor", "NodeClassifier"):
        try:
            from . import _estimators
        except ImportError as error:
            raise ImportError(f"nigh.{name} needs scikit-learn (pip install scikit-learn): {error}") from error
        return getattr(_estimators, name)
    raise AttributeError(f"module 'nigh' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
