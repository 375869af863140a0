"""One hop `y = Ã x` in scipy, on one thread as it is called and on two halves of the rows, and in pycleora."""

import concurrent.futures

import numpy as np


def prepare(kind, name, graphs, side):
    if kind != "propagate":
        return None
    [graph] = graphs
    width = int(name.removeprefix("d"))
    if side == "pycleora":
        return pycleora(graph, width)
    operator = graph.operator()
    x = np.random.default_rng(0).standard_normal((graph.nodes, width), dtype=np.float32)
    if side == "scipy":
        return lambda: operator @ x
    # The halves hold as many edges; scipy lets go of Python's lock in its loops.
    middle = int(np.searchsorted(operator.indptr, operator.nnz // 2))
    halves = [operator[:middle], operator[middle:]]
    threads = concurrent.futures.ThreadPoolExecutor(len(halves))
    return lambda: np.concatenate(list(threads.map(lambda half: half @ x, halves)))


def pycleora(graph, width):
    from pycleora import SparseMatrix

    lines = (f"{a} {b}" for a, b in graph.edges)
    matrix = SparseMatrix.from_iterator(lines, "complex::reflexive::node")
    # It numbers the nodes that have edges, in an order of its own: x is random, so any row may be any node's.
    x = np.random.default_rng(0).standard_normal((matrix.num_entities, width), dtype=np.float32)
    return lambda: matrix.symmetric_markov_propagate(x)
