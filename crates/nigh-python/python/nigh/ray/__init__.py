"""Graphs beyond one machine, on Ray: ``pip install 'nigh[ray]'``.

>>> import nigh.ray
>>> result = nigh.ray.propagate("edges/*.parquet", "vectors", num_workers=4)    # doctest: +SKIP
>>> result.files                                                                # doctest: +SKIP
['file:///data/vectors/part-00000.parquet', ...]

Every stage goes from files to files, and its shards follow from the settings, never from the number of workers: the numbers
are those of the program on one machine, bit by bit. A call that was interrupted is made again and goes on where it was.
``python -m nigh.ray`` does the same for ``ray job submit``. ``docs/scale.md`` says what passes between machines.
"""

from __future__ import annotations

from ._calls import Options, embed, predict, propagate, train
from ._run import Result, Stage

__all__ = ["Options", "Result", "Stage", "embed", "predict", "propagate", "train"]
