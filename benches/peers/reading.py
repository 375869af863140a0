"""Reading a graph: nigh beside polars (which only reads the table) and pycleora (which builds its graph), interleaved."""

import argparse
import datetime
import json
import os
import pathlib
import platform
import statistics
import subprocess
import sys

POLARS = """
import sys, time
import polars
start = time.perf_counter()
rows = polars.read_csv(sys.argv[1]).height
print('{"seconds": %f, "edges": %d}' % (time.perf_counter() - start, rows))
"""
PYCLEORA = """
import sys, time
from pycleora import SparseMatrix
start = time.perf_counter()
graph = SparseMatrix.from_files([sys.argv[1]], "complex::reflexive::node")
print('{"seconds": %f, "edges": %d}' % (time.perf_counter() - start, graph.num_edges))
"""


def make_files(folder, edges):
    """A csv of integer ids, the same with string ids, and a small list that pycleora reads as well."""
    import numpy
    import polars

    folder.mkdir(parents=True, exist_ok=True)
    names = [f"{edges}-integers.csv", f"{edges}-strings.csv", f"{edges // 30}-blanks.txt"]
    paths = [folder / name for name in names]
    if all(path.exists() for path in paths):
        return paths
    ends = numpy.random.default_rng(0).integers(0, edges // 30, (edges, 2))
    table = polars.DataFrame({"source": ends[:, 0], "target": ends[:, 1]})
    table.write_csv(paths[0])
    table.select(polars.concat_str(polars.lit("user"), polars.col(name)).alias(name) for name in table.columns).write_csv(
        paths[1]
    )
    table.head(edges // 30).write_csv(paths[2], separator=" ", include_header=False)
    return paths


def run(command):
    """What a process printed, with the most memory that it held."""
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    output = process.stdout.read()
    _, status, usage = os.wait4(process.pid, 0)
    if status:
        sys.exit(f"{command[0]} failed")
    # Ours measures itself: what a new process is said to hold includes what its parent held.
    return {"peak_bytes": usage.ru_maxrss * 1024} | json.loads(output)


def main():
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("program", help="the compiled benchmark of nigh")
    options.add_argument("--edges", type=int, default=30_000_000)
    options.add_argument("--rounds", type=int, default=5)
    options = options.parse_args()

    root = pathlib.Path(__file__).parents[2]
    integers, strings, blanks = make_files(root / "target" / "peers" / "files", options.edges)
    nigh, polars = [options.program], [sys.executable, "-c", POLARS]
    jobs = {
        "nigh, integer ids": nigh + [integers],
        "polars, integer ids": polars + [integers],
        "nigh, string ids": nigh + [strings],
        "polars, string ids": polars + [strings],
        "nigh, small": nigh + [blanks],
        "pycleora, small": [sys.executable, "-c", PYCLEORA, blanks],
    }
    results = {name: [] for name in jobs}
    for _ in range(options.rounds):
        for name, command in jobs.items():
            results[name].append(run([str(word) for word in command]))

    seconds = {name: statistics.median(result["seconds"] for result in results[name]) for name in jobs}
    peaks = {name: max(result["peak_bytes"] for result in results[name]) for name in jobs}
    print(f"{'':22}{'seconds':>9}{'least':>8}{'most':>8}{'peak MiB':>10}")
    for name in jobs:
        all_seconds = [result["seconds"] for result in results[name]]
        print(f"{name:22}{seconds[name]:9.3f}{min(all_seconds):8.3f}{max(all_seconds):8.3f}{peaks[name] / 2**20:10.0f}")
    graph = results["nigh, integer ids"][0]["graph_bytes"]
    ratios = {
        "integer ids, time of polars over ours (at least 1)": seconds["polars, integer ids"] / seconds["nigh, integer ids"],
        "string ids, our time over polars (at most 3)": seconds["nigh, string ids"] / seconds["polars, string ids"],
        "string ids, our time over polars on integers": seconds["nigh, string ids"] / seconds["polars, integer ids"],
        "integer ids, our peak memory over the graph (at most 3)": peaks["nigh, integer ids"] / graph,
        "small list, time of pycleora over ours": seconds["pycleora, small"] / seconds["nigh, small"],
    }
    print()
    for name, ratio in ratios.items():
        print(f"{ratio:6.2f}  {name}")

    commit = subprocess.run(["git", "describe", "--always"], cwd=root, capture_output=True, text=True)
    record = {
        "date": datetime.date.today().isoformat(),
        "version": commit.stdout.strip(),
        "machine": f"{os.cpu_count()} cores, {platform.machine()}, {platform.system()}",
        "edges": options.edges,
        "seconds": {name: [result["seconds"] for result in results[name]] for name in jobs},
        "peak_bytes": peaks,
        "ratios": ratios,
    }
    path = root / "benches" / "results" / "reading.json"
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps(record, indent=2) + "\n")


if __name__ == "__main__":
    main()
