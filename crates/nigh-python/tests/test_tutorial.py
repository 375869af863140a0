"""The tutorial runs, and the notebook that is in the repository is the one of its cells."""

from __future__ import annotations

import contextlib
import io
import json
import runpy
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[3]
CELLS: list[tuple[str, str]] = runpy.run_path(str(ROOT / "crates/nigh-python/tutorial.py"))["cells"]()


def test_every_cell_runs() -> None:
    pytest.importorskip("pandas")
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    printed = io.StringIO()
    names: dict[str, Any] = {}
    with contextlib.redirect_stdout(printed):
        for kind, source in CELLS:
            if kind == "code":
                exec(compile(source, "<tutorial>", "exec"), names)
    assert names["share"] > 0.8, printed.getvalue()
    assert len(names["table"]) == 4
    assert "links of 'p000'" in printed.getvalue()


def test_the_notebook_is_that_of_the_cells() -> None:
    notebook = json.loads((ROOT / "docs/tutorial.ipynb").read_text())
    kept = [(cell["cell_type"], "".join(cell["source"])) for cell in notebook["cells"]]
    assert kept == CELLS, "run crates/nigh-python/tutorial.py"
    assert all(cell["outputs"] for cell in notebook["cells"] if cell["cell_type"] == "code" and "plt.show" in cell["source"])
