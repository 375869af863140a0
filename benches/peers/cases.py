"""What is measured, beside whom, and how much faster nigh is meant to be."""

import fnmatch
import itertools
import re

TRAINED = "{cora,coauthor-cs,coauthor-physics}"
# Models that only we measure.
OTHERS = (
    "smp-identity,smp-mlp,smp-linear-gcn-feat,smp-linear-gcn-both,smp-attention,smp-gin,"
    "p-gnn,gcn-onehot,eigen-gnn,matrix-factorization"
)
# Cases, and the peers that know them.
CASES = [
    ("epoch/{smp-linear,smp-linear-resampled}/{communities,cora,coauthor-cs,coauthor-physics,ppi}", ["torch", "torch-compiled", "authors"]),
    ("epoch/{sgc,gcn,gat,graphsage}/{communities,cora,coauthor-cs,coauthor-physics}", ["pyg", "pyg-sparse"]),
    (f"classes/smp-linear/{TRAINED}", ["torch", "torch-compiled", "authors"]),
    (f"classes/{{sgc,gcn,gat,graphsage}}/{TRAINED}", ["pyg", "pyg-sparse"]),
    ("propagate/d32/{cora,coauthor-physics}", ["torch", "scipy", "scipy-threads", "pycleora"]),
    ("propagate/d64/{1m,ppa}", ["torch", "scipy", "scipy-threads", "pycleora"]),
    ("propagate/d64/ppa-random", ["torch", "scipy", "scipy-threads"]),
    ("propagate/{d1,d8,d64,d256}/coauthor-physics", ["torch", "scipy"]),
    ("propagate/d64/{30m,30x1m}", []),
    ("propagate-half/d64/{ppa,ppa-random}", []),
    (f"sparse-product/{TRAINED}", ["torch"]),
    ("pair-loss/{communities,cora,coauthor-cs,coauthor-physics}", ["torch", "torch-compiled"]),
    ("{gemm,gemm-backward}/34493x64x32", ["torch"]),
    ("{gemm,gemm-backward}/131072x256x256", ["torch"]),
    (f"attention/{TRAINED}", ["pyg"]),
    (f"p-gnn-message/{TRAINED}", []),
    ("evaluation/smp-linear/{communities,cora,coauthor-cs,coauthor-physics,ppi}", []),
    ("epoch/{OTHERS}/{communities,cora,coauthor-cs,coauthor-physics,ppi}".replace("OTHERS", OTHERS), []),
    ("node2vec/cora", ["pecanpy"]),
    ("bandwidth/{140MiB,2048MiB}", []),
]
# Measured in a process of its own each time, with the memory that it takes.
FRESH = ["start-up", "job/{cora,coauthor-physics}", "scale/{1m,3m,10m,30m}", "read-and-propagate/ppa", "pair-mlp/ppa"]
# Cases, a peer or another case of ours, and how many times its time ours should fit into.
BARS = [
    ("epoch/{smp-linear,smp-linear-resampled}/*", "torch", 4),
    ("epoch/{smp-linear,smp-linear-resampled}/{coauthor-cs,coauthor-physics,ppi}", "authors", 20),
    ("epoch/{sgc,gcn,gat,graphsage}/{coauthor-cs,coauthor-physics}", "pyg", 5),
    ("epoch/{sgc,gcn,gat,graphsage}/cora", "pyg", 3),
    ("propagate/d64/ppa", "torch", 2),
    ("propagate/d64/ppa", "scipy", 6),
    ("propagate/d64/ppa", "pycleora", 3),
    ("propagate-half/d64/ppa", "propagate/d64/ppa", 1.7),
]
# Cores that others may use while a case is measured, before its times stop counting.
QUIET = 0.1
# What the chart shows: a case and a peer.
CHART = [
    ("epoch/smp-linear/*", "torch"),
    ("epoch/smp-linear/*", "authors"),
    ("epoch/{sgc,gcn,gat,graphsage}/coauthor-cs", "pyg"),
    ("propagate/d64/ppa", "torch"),
    ("propagate/d64/ppa", "scipy"),
    ("propagate/d64/ppa", "pycleora"),
]
# Shapes that never change: written once. The others are the data at hand.
GENERATED = ["ppa", "ppa-random", "1m", "3m", "10m", "30m", "30x1m"]


def expand(pattern):
    """`a/{b,c}` -> `a/b`, `a/c`."""
    parts = [part.split(",") for part in re.split(r"[{}]", pattern)]
    # Odd parts stood between braces.
    parts = [part if at % 2 else [",".join(part)] for at, part in enumerate(parts)]
    return ["".join(words) for words in itertools.product(*parts)]


def matches(case, patterns):
    return any(fnmatch.fnmatchcase(case, plain) for pattern in patterns for plain in expand(pattern))


def shape_of(case):
    """The shape whose files a case needs, if any."""
    kind, *rest = case.split("/")
    return rest[-1] if rest and kind not in ("gemm", "gemm-backward", "bandwidth", "job", "pair-mlp") else None
