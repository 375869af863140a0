"""What all sides in PyTorch share: a graph as tensors, the questions that an epoch asks, and the step of Adam."""

import numpy as np
import torch
import torch.nn.functional as F

WIDTH = 32


def tensor(array):
    return None if array is None else torch.from_numpy(array.astype(np.int64))


class Data:
    """A graph as tensors: `x` dense, `edge_index` in both directions, positive pairs 2 x M."""

    def __init__(self, graph):
        self.nodes = graph.nodes
        self.x = torch.from_numpy(graph.features.toarray())
        self.edge_index = tensor(graph.both_ways())
        self.positive = tensor(graph.edges.T)
        self.labels, self.train = tensor(graph.labels), tensor(graph.train)


def epoch(parameters, loss_of, graphs, **adam):
    """One epoch as a function: forward, backward and a step of Adam per graph."""
    optimizer = torch.optim.Adam(parameters, lr=0.01, weight_decay=5e-4, **adam)

    def unit():
        for graph in graphs:
            optimizer.zero_grad()
            loss_of(graph).backward()
            optimizer.step()

    return unit


def cosine_loss(h, positive):
    """BCE with logits of cosine scores, with as many random pairs as there are positive ones."""
    negative = torch.randint(h.shape[0], positive.shape)
    i, j = torch.cat([positive, negative], dim=1)
    z = F.normalize(h, dim=1)
    scores = (z[i] * z[j]).sum(dim=1)
    labels = torch.cat([torch.ones(positive.shape[1]), torch.zeros(negative.shape[1])])
    return F.binary_cross_entropy_with_logits(scores, labels)


def class_loss(h, labels, train):
    return F.nll_loss(F.log_softmax(h, dim=1)[train], labels[train])
