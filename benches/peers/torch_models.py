"""SMP-Linear, and its parts, in the best PyTorch that we could write: `torch` as it runs everywhere, and `torch-compiled`,
where `torch.compile` makes C++ of all that is dense, which needs a compiler and half a minute on first use.

Compared by processor time on one thread:
- CSR products with 32-bit indices (MKL). `torch.sparse.mm(..., "sum")`, which wants 64 bits, makes an epoch as long on
  communities and 1.2 to 1.3 times as long on Cora and CS.
- `torch.compile` of all that is dense, pairs included: an epoch takes 0.5 to 0.6 of the time on communities, Cora, CS and
  Physics, against the best without it: a loss with its gradient by hand, in blocks that stay in the cache. Autograd over
  `index_select` or `gather` of both ends is slower still on Cora and CS.
- Fused Adam, ahead of foreach by 0.2 to 1 ms.
Done without comparing: features stay sparse with their transpose beside them, Ã is its own transpose, Ẽ is computed once
when E is fixed, and so is Ã^2 F where it is narrow; where it is not, F W goes first.
"""

import numpy as np
import torch
import torch.nn.functional as F

from learning import WIDTH, class_loss, epoch, tensor


def sparse(matrix):
    """A matrix of scipy as torch's CSR."""
    rows, columns = torch.from_numpy(matrix.indptr.astype(np.int32)), torch.from_numpy(matrix.indices.astype(np.int32))
    return torch.sparse_csr_tensor(rows, columns, torch.from_numpy(matrix.data), size=matrix.shape)


class Product(torch.autograd.Function):
    """`M x` with a constant sparse M, whose transpose gives the gradient."""

    @staticmethod
    def forward(context, x, matrix, transpose):
        context.transpose = transpose
        return matrix @ x

    @staticmethod
    def backward(context, gradient):
        return context.transpose @ gradient, None, None


def pair_loss(h, pairs, labels):
    """BCE with logits of cosine scores."""
    z = F.normalize(h, dim=1)
    scores = (z.index_select(0, pairs[0]) * z.index_select(0, pairs[1])).sum(dim=1)
    return F.binary_cross_entropy_with_logits(scores, labels)


class Data:
    def __init__(self, graph):
        self.nodes = graph.nodes
        self.operator = sparse(graph.operator())
        self.features, self.transposed = sparse(graph.features), sparse(graph.features.T.tocsr())
        narrow = graph.features.shape[1] <= 2 * WIDTH
        self.propagated_features = self.propagate(torch.from_numpy(graph.features.toarray())) if narrow else None
        self.propagated_signal = self.propagate(signal(graph.nodes))
        self.positive = tensor(graph.edges.T)
        self.pair_labels = torch.cat([torch.ones(len(graph.edges)), torch.zeros(len(graph.edges))])
        self.labels, self.train = tensor(graph.labels), tensor(graph.train)

    def propagate(self, x):
        for _ in range(2):
            x = Product.apply(x, self.operator, self.operator)
        return x

    def pairs(self):
        return torch.cat([self.positive, torch.randint(self.nodes, self.positive.shape)], dim=1)


def signal(nodes):
    return torch.randn(nodes, WIDTH).mul_(WIDTH**-0.5)


def smp_linear(graphs, pairs, resampled, compiled):
    features, outputs = graphs[0].features.shape[1], WIDTH if pairs else graphs[0].num_classes
    front, head = torch.nn.Linear(features, WIDTH), torch.nn.Linear(2 * WIDTH, outputs)
    # Kept as d0 x 32, as the sparse product takes it.
    weight = torch.nn.Parameter(front.weight.detach().t().contiguous())

    def answer(x, e, asked, labels):
        h = head(torch.cat([F.normalize(x, dim=1), e], dim=1))
        return pair_loss(h, asked, labels) if pairs else class_loss(h, labels, asked)

    # Graphs of many sizes share one compiled function.
    answer = torch.compile(answer, dynamic=len(graphs) > 1) if compiled else answer

    def loss_of(data):
        e = data.propagate(signal(data.nodes)) if resampled else data.propagated_signal
        if data.propagated_features is None:
            x = data.propagate(Product.apply(weight, data.features, data.transposed)) + front.bias
        else:
            x = torch.addmm(front.bias, data.propagated_features, weight)
        question = (data.pairs(), data.pair_labels) if pairs else (data.train, data.labels)
        return answer(x, e, *question)

    parameters = [weight, front.bias, *head.parameters()]
    return epoch(parameters, loss_of, [Data(graph) for graph in graphs], fused=True)


def prepare(kind, name, graphs, side):
    if kind in ("epoch", "classes") and name in ("smp-linear", "smp-linear-resampled"):
        return smp_linear(graphs, kind == "epoch", name == "smp-linear-resampled", side == "torch-compiled")
    if kind == "propagate":
        operator, x = sparse(graphs[0].operator()), torch.randn(graphs[0].nodes, int(name.removeprefix("d")))
        return lambda: operator @ x
    if kind == "sparse-product":
        features, w = sparse(graphs[0].features), torch.randn(graphs[0].features.shape[1], WIDTH)
        return lambda: features @ w
    if kind == "pair-loss":
        data = Data(graphs[0])
        h, pairs = torch.randn(data.nodes, WIDTH, requires_grad=True), data.pairs()
        loss = torch.compile(pair_loss) if side == "torch-compiled" else pair_loss
        return lambda: torch.autograd.grad(loss(h, pairs, data.pair_labels), h)
    if kind in ("gemm", "gemm-backward"):
        m, k, n = map(int, name.split("x"))
        a, b, upstream = torch.randn(m, k), torch.randn(k, n), torch.randn(m, n)
        # Backward is the forward product with both gradients after it.
        return (lambda: a @ b) if kind == "gemm" else (lambda: (a @ b, upstream @ b.t(), a.t() @ upstream))
    return None
