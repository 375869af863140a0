"""The peers' side of the benchmark: answers one JSON object per line, `{"case", "side", "folder"}` -> `{"seconds", "units"}`.

    python worker.py [--threads N]

A side is a module with `prepare(kind, rest, shape, side)`, which sets a case up and returns one unit of it (an epoch, a hop,
a call) as a function to be timed; None where the side does not know the case.
"""

import argparse
import importlib
import json
import os
import statistics
import sys
import time

SIDES = {
    "torch": "torch_models",
    "torch-compiled": "torch_models",
    "authors": "authors",
    "pyg": "pyg_models",
    "pyg-sparse": "pyg_models",
    "scipy": "propagation",
    "scipy-threads": "propagation",
    "pycleora": "propagation",
    "pecanpy": "walks",
}
ENOUGH_SECONDS, LONG_SECONDS = 0.5, 5


def measure(unit):
    """The median time of a unit, over as many as fit into half a second, at least three unless they are long.

    The first is not counted: it may compile."""
    unit()
    seconds = []
    while sum(seconds) < ENOUGH_SECONDS or len(seconds) < 3:
        start = time.perf_counter()
        unit()
        seconds.append(time.perf_counter() - start)
        if seconds[0] > LONG_SECONDS:
            break
    return {"seconds": statistics.median(seconds), "units": len(seconds)}


def prepare(request):
    """`epoch/gcn/cora`: a kind, what it is about, and a shape (which `gemm/AxBxC` has not)."""
    import shapes

    kind, *rest = request["case"].split("/")
    module = importlib.import_module(SIDES[request["side"]])
    graphs = [] if kind.startswith("gemm") else shapes.read(request["folder"], rest[-1])
    unit = module.prepare(kind, rest[0], graphs, request["side"])
    if unit is None:
        raise KeyError(f"{request['side']} does not know {request['case']}")
    return unit


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--threads", type=int, default=os.cpu_count())
    threads = options.parse_args().threads
    # Read when numpy, torch and numba are first imported, which only the cases do.
    for name in ["OMP_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS", "RAYON_NUM_THREADS"]:
        os.environ[name] = str(threads)
    # What a library prints is for people.
    answers, sys.stdout = sys.stdout, sys.stderr
    last, unit = None, None
    for line in sys.stdin:
        request = json.loads(line)
        try:
            if request != last:
                last, unit = None, None
                unit = prepare(request)
                last = request
            answer = measure(unit)
        except Exception as error:
            last, unit = None, None
            answer = {"error": f"{type(error).__name__}: {error}"}
        print(json.dumps(answer), file=answers, flush=True)


if __name__ == "__main__":
    main()
