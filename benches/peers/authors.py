"""SMP-Linear as research code is written: message passing over `edge_index`, dense features, all of it in every forward pass."""

import numpy as np
import torch
import torch.nn.functional as F
from torch_geometric.nn import MessagePassing
from torch_geometric.utils import add_self_loops, degree

from learning import WIDTH, Data, class_loss, epoch


class Propagation(MessagePassing):
    """`Ã x`: messages are gathered along the edges, weighed, and scattered to the nodes."""

    def __init__(self):
        super().__init__(aggr="add")

    def forward(self, x, edge_index):
        edge_index, _ = add_self_loops(edge_index, num_nodes=x.shape[0])
        row, column = edge_index
        scale = degree(column, x.shape[0], dtype=x.dtype).pow(-0.5)
        return self.propagate(edge_index, x=x, norm=scale[row] * scale[column])

    def message(self, x_j, norm):
        return norm.view(-1, 1) * x_j


class SMPLinear(torch.nn.Module):
    """`[normalised(Ã^2 F W + b), Ã^2 E]`, then a linear head."""

    def __init__(self, features, outputs):
        super().__init__()
        self.propagation = Propagation()
        self.features = torch.nn.Linear(features, WIDTH)
        self.head = torch.nn.Linear(2 * WIDTH, outputs)

    def propagate(self, x, edge_index):
        for _ in range(2):
            x = self.propagation(x, edge_index)
        return x

    def forward(self, x, e, edge_index):
        # As in the protocol, the map comes first where features are wide.
        if x.shape[1] > WIDTH:
            x = self.propagate(F.linear(x, self.features.weight), edge_index) + self.features.bias
        else:
            x = self.features(self.propagate(x, edge_index))
        return self.head(torch.cat([F.normalize(x, dim=1), self.propagate(e, edge_index)], dim=1))


def signal(nodes):
    return torch.from_numpy(np.random.normal(size=(nodes, WIDTH)) / np.sqrt(WIDTH)).float()


def prepare(kind, name, graphs, side):
    if kind not in ("epoch", "classes") or name not in ("smp-linear", "smp-linear-resampled"):
        return None
    pairs = kind == "epoch"
    model = SMPLinear(graphs[0].features.shape[1], WIDTH if pairs else graphs[0].num_classes)
    graphs = [Data(graph) for graph in graphs]
    for data in graphs:
        data.e = signal(data.nodes)
        data.positive = data.positive.numpy()

    def loss_of(data):
        e = data.e if name == "smp-linear" else signal(data.nodes)
        h = model(data.x, e, data.edge_index)
        if not pairs:
            return class_loss(h, data.labels, data.train)
        negative = np.random.randint(data.nodes, size=data.positive.shape)
        i, j = torch.from_numpy(np.concatenate([data.positive, negative], axis=1))
        h = F.normalize(h, dim=1)
        scores = (h[i] * h[j]).sum(dim=1)
        labels = torch.cat([torch.ones(data.positive.shape[1]), torch.zeros(negative.shape[1])])
        return torch.nn.BCEWithLogitsLoss()(scores, labels)

    return epoch(model.parameters(), loss_of, graphs)
