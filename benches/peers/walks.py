"""node2vec by PecanPy: its faster walks for p = q = 1, then gensim's skip-gram as PecanPy calls it."""

import os

import numpy as np

DIMENSIONS, LENGTH, WALKS, CONTEXT = 32, 80, 10, 10


def prepare(kind, name, graphs, side):
    if kind != "node2vec":
        return None
    from gensim.models import Word2Vec
    from pecanpy import pecanpy

    workers = int(os.environ["NUMBA_NUM_THREADS"])
    [graph] = graphs
    adjacency = np.zeros((graph.nodes, graph.nodes))
    a, b = graph.edges.T
    adjacency[a, b] = adjacency[b, a] = 1
    ids = [str(node) for node in range(graph.nodes)]
    walker = pecanpy.FirstOrderUnweighted.from_mat(adjacency, ids, p=1, q=1, workers=workers, random_state=0)

    def unit():
        # It counts steps, not nodes.
        walks = walker.simulate_walks(WALKS, LENGTH - 1)
        Word2Vec(walks, vector_size=DIMENSIONS, window=CONTEXT, sg=1, min_count=0, workers=workers, epochs=1, seed=0)

    # The first walks compile them.
    walker.simulate_walks(1, 2)
    return unit
