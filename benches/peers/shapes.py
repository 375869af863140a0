"""The shapes that all sides read: graphs and features as raw arrays, written by nigh's worker."""

import dataclasses
import json
import pathlib

import numpy as np
import scipy.sparse


@dataclasses.dataclass
class Graph:
    """A graph as message passing sees it: undirected edges, each once, which are also the positive pairs."""

    nodes: int
    edges: np.ndarray  # M x 2
    features: scipy.sparse.csr_matrix  # N x d0; a constant column where the shape has none
    num_classes: int
    labels: np.ndarray | None
    train: np.ndarray | None  # the nodes whose labels are learnt

    def both_ways(self):
        """Every edge in both directions, 2 x 2M."""
        return np.concatenate([self.edges.T, self.edges.T[::-1]], axis=1)

    def adjacency(self):
        sources, targets = self.both_ways()
        ones = np.ones(len(sources), np.float32)
        return scipy.sparse.coo_matrix((ones, (sources, targets)), shape=(self.nodes, self.nodes)).tocsr()

    def operator(self):
        """`Ã = (D+I)^-1/2 (A+I) (D+I)^-1/2`."""
        looped = self.adjacency() + scipy.sparse.eye(self.nodes, dtype=np.float32, format="csr")
        scale = 1 / np.sqrt(np.diff(looped.indptr).astype(np.float32))
        looped.data *= np.repeat(scale, np.diff(looped.indptr)) * scale[looped.indices]
        looped.sort_indices()
        return looped


def read(folder, name):
    """All graphs of a shape."""
    folder = pathlib.Path(folder) / name
    counts = json.loads((folder / "meta.json").read_text())["graphs"]
    return [read_graph(folder / str(number), count) for number, count in enumerate(counts)]


def read_graph(folder, count):
    def array(name, kind):
        path = folder / name
        return np.fromfile(path, kind) if path.exists() else None

    nodes = count["nodes"]
    # Row and column numbers fit into 32 bits everywhere: half the memory, and what the fastest products of torch take.
    edges = array("edges.u32", "<u4").reshape(-1, 2).astype(np.int32)
    values = array("values.f32", "<f4")
    if values is None:
        features = scipy.sparse.csr_matrix(np.ones((nodes, 1), np.float32))
    else:
        rows, columns = array("indptr.u64", "<u8").astype(np.int32), array("indices.u32", "<u4").astype(np.int32)
        features = scipy.sparse.csr_matrix((values, columns, rows), shape=(nodes, count["features"]))
    labels, train = array("labels.u32", "<u4"), array("train.u32", "<u4")
    return Graph(nodes, edges, features, count.get("classes", 0), labels, train)
