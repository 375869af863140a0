"""PyTorch Geometric's layers: "pyg" as its documentation shows them, "pyg-sparse" as a careful user may call them.

"pyg" gives them a dense `x` and `edge_index`. "pyg-sparse" gives them the adjacency as torch.sparse CSR, normalised once
instead of in every pass, and sparse features where the layer takes them (GCN, and GAT behind its linear map).
"""

import os

import torch
import torch.nn.functional as F
from torch_geometric.nn import GATConv, GCNConv, SAGEConv, SGConv
from torch_geometric.nn.conv.gcn_conv import gcn_norm
from torch_geometric.utils import to_torch_csr_tensor

from learning import WIDTH, Data, class_loss, cosine_loss, epoch

HEADS = 4
MODELS = ["sgc", "gcn", "gat", "graphsage"]


class Network(torch.nn.Module):
    """Two layers with ReLU and dropout between them; SGC is one layer of two hops."""

    def __init__(self, name, features, outputs, pairs, normalize):
        super().__init__()
        self.name = name
        self.dropout = 0.6 if name == "gat" else 0.5
        self.front = None
        if name == "gat" and pairs:
            self.front = torch.nn.Linear(features, WIDTH)
            features = WIDTH
        make = {
            # Cached, as in PyTorch Geometric's own example: Ã^2 F is computed once.
            "sgc": lambda: [SGConv(features, outputs, K=2, cached=True)],
            "gcn": lambda: [GCNConv(features, WIDTH, normalize=normalize), GCNConv(WIDTH, outputs, normalize=normalize)],
            "graphsage": lambda: [SAGEConv(features, WIDTH), SAGEConv(WIDTH, outputs)],
            "gat": lambda: [
                GATConv(features, WIDTH // HEADS, heads=HEADS, dropout=self.dropout),
                GATConv(WIDTH, outputs, heads=1, concat=False, dropout=self.dropout),
            ],
        }
        self.layers = torch.nn.ModuleList(make[name]())

    def forward(self, x, edges):
        if self.name == "gat":
            x = F.dropout(self.front(x) if self.front else x, self.dropout, self.training)
        *hidden, last = self.layers
        for layer in hidden:
            x = F.dropout(layer(x, edges).relu(), self.dropout, self.training)
        return last(x, edges)


def prepare(kind, name, graphs, side):
    if kind == "attention":
        return attention(Data(graphs[0]))
    # One cache can't serve several graphs.
    if kind not in ("epoch", "classes") or name not in MODELS or (name == "sgc" and len(graphs) > 1):
        return None
    pairs, sparse = kind == "epoch", side == "pyg-sparse"
    features, outputs = graphs[0].features.shape[1], WIDTH if pairs else graphs[0].num_classes
    model = Network(name, features, outputs, pairs, normalize=not sparse)
    graphs = [Data(graph) for graph in graphs]
    for data in graphs:
        data.edges = data.edge_index
        if name == "graphsage" and not sparse:
            refuse_messages_beyond_memory(data.edge_index.shape[1] * features * 4)
        if sparse:
            size = (data.nodes, data.nodes)
            data.edges = to_torch_csr_tensor(data.edge_index, size=size)
            if name == "gcn":
                data.edges = to_torch_csr_tensor(*gcn_norm(data.edge_index, None, data.nodes), size=size)
            if name == "gcn" or model.front:
                data.x = data.x.to_sparse_csr()
    if name == "sgc":
        # The cache is filled by a product of matrices: filled from edge_index, it would take a message of d0 per edge.
        data.edges = to_torch_csr_tensor(data.edge_index, size=(data.nodes, data.nodes))

    def loss_of(data):
        h = model(data.x, data.edges)
        return cosine_loss(h, data.positive) if pairs else class_loss(h, data.labels, data.train)

    return epoch(model.parameters(), loss_of, graphs)


def attention(data):
    """GAT's attention alone, forward and backward."""
    layer = GATConv(WIDTH, WIDTH // HEADS, heads=HEADS)
    # The map in front of the attention is measured by itself.
    layer.lin = torch.nn.Identity()
    x, upstream = torch.randn(data.nodes, WIDTH, requires_grad=True), torch.randn(data.nodes, WIDTH)

    def unit():
        layer.zero_grad()
        x.grad = None
        layer(x, data.edge_index).backward(upstream)

    return unit


def refuse_messages_beyond_memory(size):
    """A layer that gathers before it maps holds a message as wide as the features for every edge."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_AVPHYS_PAGES")
    if 1.5 * size > memory:
        raise MemoryError(f"messages of {size / 2**30:.1f} GiB do not fit")
