"""A graph file that another program cuts or overwrites while a session uses it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import nigh

#: Works on a graph file whose content changes after it was opened. Ends with 3 and the message of an `InputError`.
SESSION = """
import sys
import nigh

path, accident, at, use = sys.argv[1:]
graph = nigh.Graph(path)
with open(path, "r+b") as file:
    if accident == "cut":
        file.truncate(int(at))
    else:
        file.seek(int(at))
        file.write(b"other bytes" * 20)
settings = dict(model="smp-linear", epochs=2, repeats=1, progress=False)
try:
    match use:
        case "edges":
            graph.edge_index
        case "degrees":
            graph.degrees
        case "digest":
            graph.digest
        case "train":
            nigh.train(graph, **settings)
        case "sampled":
            nigh.train(graph, pairs_per_epoch=200, memory="1GiB", **settings)
        case "certify":
            nigh.certify(graph, pairs=20, signal_dim=16)
except nigh.InputError as error:
    print(error)
    sys.exit(3)
"""


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    folder = tmp_path_factory.mktemp("graph")
    edges = np.random.default_rng(1).integers(0, 3_000, (30_000, 2))
    np.savetxt(folder / "edges.csv", edges[edges[:, 0] != edges[:, 1]], "%d", delimiter=",")
    out = folder / "graph.nigh"
    assert nigh._nigh.program(["nigh", "data", "convert", str(folder / "edges.csv"), "-q", "--out", str(out)]) == 0
    return out.read_bytes()


@pytest.mark.parametrize("accident", ["cut", "overwritten"])
@pytest.mark.parametrize("use", ["edges", "degrees", "digest", "train", "sampled", "certify"])
def test_a_session_goes_on_with_an_error_that_names_the_file(whole: bytes, tmp_path: Path, accident: str, use: str) -> None:
    path = tmp_path / "graph.nigh"
    for at in (4_100, 100_000, len(whole) - 2_000):
        path.write_bytes(whole)
        command = [sys.executable, "-c", SESSION, str(path), accident, str(at), use]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        # Degrees are in the last section alone.
        expected = 0 if use == "degrees" and accident == "overwritten" and at < 200_000 else 3
        assert done.returncode == expected, (use, accident, at, done.returncode, done.stderr)
        if expected == 3:
            assert "graph.nigh: " in done.stdout and "while it was in use" in done.stdout, done.stdout
