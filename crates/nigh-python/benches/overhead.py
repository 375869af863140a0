"""What Python costs: edges from NumPy beside SciPy, and a training beside the program, each in the same run.

    python crates/nigh-python/benches/overhead.py [--rounds 5]

The second needs Cora (`nigh.data.fetch("cora")`); it is left out where it is not there.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
import warnings

import numpy as np
import scipy.sparse

import nigh

SETTINGS = {"model": "smp-linear", "epochs": 1000, "patience": 0, "repeats": 1}


def seconds(work) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def edges(rounds: int) -> None:
    """Ten million edges of int64 among a million nodes."""
    nodes, count = 1_000_000, 10_000_000
    ends = np.random.default_rng(1).integers(0, nodes, (2, count))
    ones = np.ones(count, dtype=np.float32)
    ratios = []
    for _ in range(rounds):
        theirs = seconds(lambda: scipy.sparse.coo_matrix((ones, (ends[0], ends[1])), shape=(nodes, nodes)).tocsr())
        ours = seconds(lambda: nigh.Graph(ends))
        ratios.append(ours / theirs)
        print(f"  scipy coo -> csr {theirs:6.2f} s   nigh.Graph {ours:6.2f} s   ratio {ours / theirs:.2f}")
    print(f"edges: median ratio {statistics.median(ratios):.2f} (nigh sorts, merges and cleans both directions)")


def training(rounds: int) -> None:
    """A training with one thread, reading apart on both sides: the program is run with one epoch as well."""
    graph = nigh.Graph("cora")
    shared = ["--model", SETTINGS["model"], "--repeats", "1", "--threads", "1", "--quiet", "--patience", "0"]

    def program(epochs: int) -> float:
        with tempfile.TemporaryDirectory() as folder:
            line = ["train", "cora", *shared, "--epochs", str(epochs), "--out", os.path.join(folder, "model")]
            command = [sys.executable, "-m", "nigh", *line]
            return seconds(lambda: subprocess.run(command, check=True, stdout=subprocess.DEVNULL))

    def package(epochs: int) -> float:
        return seconds(lambda: nigh.train(graph, **{**SETTINGS, "epochs": epochs}, threads=1, progress=False))

    ratios = []
    for _ in range(rounds):
        theirs = program(SETTINGS["epochs"]) - program(1)
        ours = package(SETTINGS["epochs"]) - package(1)
        ratios.append(ours / theirs)
        print(f"  nigh train {theirs:6.2f} s   nigh.train {ours:6.2f} s   ratio {ours / theirs:.3f}")
    print(f"training: median ratio {statistics.median(ratios):.3f} (Cora, 1,000 epochs)")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=5)
    rounds = parser.parse_args().rounds
    warnings.simplefilter("ignore", nigh.Note)
    edges(rounds)
    try:
        nigh.Graph("cora")
    except OSError as error:
        print(f"training: left out, since {error}")
        return
    training(rounds)


if __name__ == "__main__":
    main()
