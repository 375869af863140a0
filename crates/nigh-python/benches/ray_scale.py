"""Ray against the program on the same graph file: seconds, peaks and digests. Start-up of Ray is apart.

``cargo build --release && cargo build --release --example large_graph``, then
``python benches/ray_scale.py [--nodes 2000000] [--edges 40000000] [--workers 2] [--repeats 3]``.
The bar is 0.7 of the program's speed.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import re
import subprocess
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import ray

import nigh.ray
from nigh.ray import _workers

ROOT = Path(__file__).resolve().parents[3]
BAR = 0.7


def program(graph: Path, out: Path, dim: int) -> tuple[float, float, str, str]:
    """Seconds of `nigh propagate`, those of all of its threads, its peak memory and the digest of its vectors."""
    started, before = time.monotonic(), os.times()
    command = [str(ROOT / "target/release/nigh"), "propagate", str(graph), "--out", str(out), "--signal-dim", str(dim)]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    seconds, after = time.monotonic() - started, os.times()
    cpu = after.children_user + after.children_system - before.children_user - before.children_system
    peak = re.search(r"peak memory (.*)", done.stderr)
    return seconds, cpu, peak[1] if peak else "?", hashlib.sha256(np.load(out, mmap_mode="r")).hexdigest()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--nodes", type=int, default=2_000_000)
    parser.add_argument("--edges", type=int, default=40_000_000, help="drawn; about 25 million are different")
    parser.add_argument("--dim", type=int, default=32)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--slice-width", type=int, default=32)
    parser.add_argument("--modes", nargs="+", choices=("slices", "rows"), default=("slices", "rows"))
    parser.add_argument("--folder", type=Path, help="where files are kept [default: removed]")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = given.folder or Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        graph = folder / f"{given.nodes}-{given.edges}.nigh"
        if not graph.exists():
            example = ROOT / "target/release/examples/large_graph"
            subprocess.run([example, graph, str(given.nodes), str(given.edges), "2GiB"], check=True)
        started = time.monotonic()
        _workers.start(ray, given.workers)
        print(f"start-up of Ray {ray.__version__}: {time.monotonic() - started:.1f} s")
        best: dict[str, float] = {}
        threads: dict[str, float] = {}
        for repeat in range(given.repeats):
            seconds, cpu, peak, expected = program(graph, folder / "vectors.npy", given.dim)
            best["program"] = min(seconds, best.get("program", seconds))
            threads["program"] = min(cpu, threads.get("program", cpu))
            print(f"program: {seconds:.2f} s, {cpu:.2f} of all threads, peak memory {peak}")
            for mode in given.modes:
                out = folder / f"{mode}-{repeat}-{os.getpid()}"
                options: dict[str, Any] = {"mode": mode, "format": "npy", "progress": False, "slice_width": given.slice_width}
                started = time.monotonic()
                result = nigh.ray.propagate(graph, out, num_workers=given.workers, signal_dim=given.dim, **options)
                seconds = time.monotonic() - started
                cpu = sum(stage.cpu for stage in result.stages)
                best[mode] = min(seconds, best.get(mode, seconds))
                threads[mode] = min(cpu, threads.get(mode, cpu))
                assert result.sha256 == expected, "the same bits"
                stages = ", ".join(f"{stage.name} {stage.seconds:.2f}" for stage in result.stages)
                added = max(stage.added for stage in result.stages)
                memory = f"a task adds {added >> 20} MiB to a worker at most, peak {result.peak >> 20} MiB"
                print(f"{mode}: {seconds:.2f} s, {cpu:.2f} of all threads ({stages}); {memory}")
                subprocess.run(["rm", "-r", out], check=True)
        csr = graph.stat().st_size
        panels = 2 * 4 * given.nodes * given.slice_width
        print(f"edges (CSR) {csr >> 20} MiB, two panels {panels >> 20} MiB")
        ratios = {mode: best["program"] / best[mode] for mode in given.modes}
        of_threads = {mode: threads["program"] / threads[mode] for mode in given.modes}
        # Where others use the machine, seconds of threads say more.
        print(json.dumps({"seconds": best, "of all threads": threads, "of the program's speed": ratios, "by threads": of_threads, "bar": BAR}))


if __name__ == "__main__":
    main()
