"""node2vec beside PecanPy: link prediction on Cora, the same splits and settings for both.

    python compare.py split   --cora CORA --splits SPLITS
    python compare.py nigh    --splits SPLITS --vectors OURS [--program nigh]
    python compare.py pecanpy --splits SPLITS --vectors PECANPY [--workers 2] [--sample 0.001]
    python compare.py score   --splits SPLITS --ours OURS --pecanpy PECANPY

CORA holds Planetoid's ind.cora.graph. `split` writes SPLITS/<split>/{train,test,negatives}.txt, one pair of nodes per
line, and SPLITS/jobs.txt, one line per run: edges, nodes, dim, p, q, epochs, seed and <split>-<setting>, the name
under which both sides store their vectors as .npy, a row per node, beside seconds.txt: that name, seconds elapsed,
seconds of processor.
"""

import argparse
import itertools
import pickle
import resource
import subprocess
import tempfile
import time
from pathlib import Path

import numpy as np

NUM_SPLITS = 5
LENGTH, WALKS, CONTEXT = 80, 10, 10
SETTINGS = [
    (dim, p, q, epochs) for epochs, dim, (p, q) in itertools.product([1, 5], [32, 128], [(1, 1), (0.25, 4)])
]


def name(split, dim, p, q, epochs):
    return f"{split}-d{dim}-p{p}-q{q}-e{epochs}"


def split(options):
    with open(options.cora / "ind.cora.graph", "rb") as file:
        lists = pickle.load(file, encoding="latin1")
    nodes = len(lists)
    edges = np.array(sorted({(min(a, b), max(a, b)) for a, row in lists.items() for b in row if a != b}))
    known = set(map(tuple, edges))
    jobs = []
    for number in range(NUM_SPLITS):
        rng = np.random.default_rng(number)
        folder = options.splits / str(number)
        folder.mkdir(parents=True, exist_ok=True)
        shuffled = edges[rng.permutation(len(edges))]
        # 80/10/10; nothing is tuned here, so the validation edges stay unused.
        train, test = shuffled[: len(edges) * 8 // 10], shuffled[len(edges) * 9 // 10 :]
        negatives = set()
        while len(negatives) < len(test):
            a, b = sorted(rng.integers(nodes, size=2).tolist())
            if a != b and (a, b) not in known:
                negatives.add((a, b))
        for part, pairs in [("train", train), ("test", test), ("negatives", sorted(negatives))]:
            np.savetxt(folder / f"{part}.txt", pairs, fmt="%d")
    for (dim, p, q, epochs), number in itertools.product(SETTINGS, range(NUM_SPLITS)):
        jobs.append(f"{number}/train.txt {nodes} {dim} {p} {q} {epochs} {number} {name(number, dim, p, q, epochs)}")
    (options.splits / "jobs.txt").write_text("\n".join(jobs) + "\n")


def nigh(options):
    """Graph reconstruction sees all edges that it is given, and node2vec learns from what is seen."""
    options.vectors.mkdir(parents=True, exist_ok=True)
    with open(options.vectors / "seconds.txt", "w") as seconds, tempfile.TemporaryDirectory() as scratch:
        for job in (options.splits / "jobs.txt").read_text().splitlines():
            path, nodes, dim, p, q, epochs, seed, target = job.split()
            listed, model = Path(scratch) / "nodes.txt", Path(scratch) / target
            listed.write_text("id\n" + "".join(f"{node}\n" for node in range(int(nodes))))
            graph = [options.splits / path, "--nodes", listed, "--quiet"]
            settings = ["--signal-dim", dim, "--walk-p", p, "--walk-q", q, "--walk-epochs", epochs, "--seed", seed]
            task = ["--task", "graph-reconstruction", "--model", "node2vec", "--repeats", "1", "--out", model]
            before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
            subprocess.run([options.program, "train", *graph, *task, *settings], check=True, stdout=subprocess.DEVNULL)
            after, elapsed = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter() - start
            cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
            vectors = options.vectors / f"{target}.npy"
            subprocess.run([options.program, "embed", model, *graph, "--out", vectors], check=True)
            print(target, elapsed, cpu, file=seconds, flush=True)
            print(f"{target}: {elapsed:.1f} s, {cpu:.1f} s of processor", flush=True)


def pecanpy(options):
    import numba
    from gensim.models import Word2Vec
    from pecanpy import pecanpy as node2vec

    numba.set_num_threads(options.workers)
    options.vectors.mkdir(parents=True, exist_ok=True)
    with open(options.vectors / "seconds.txt", "w") as seconds:
        for job in (options.splits / "jobs.txt").read_text().splitlines():
            path, nodes, dim, p, q, epochs, seed, target = job.split()
            nodes, dim, p, q, epochs, seed = int(nodes), int(dim), float(p), float(q), int(epochs), int(seed)
            adjacency = np.zeros((nodes, nodes))
            a, b = np.loadtxt(options.splits / path, dtype=int).T
            adjacency[a, b] = adjacency[b, a] = 1
            kind = node2vec.FirstOrderUnweighted if p == q == 1 else node2vec.SparseOTF
            ids = [str(node) for node in range(nodes)]
            graph = kind.from_mat(adjacency, ids, p=p, q=q, workers=options.workers, random_state=seed)
            # The first call compiles; only the second is timed.
            graph.simulate_walks(1, 2)
            start, cpu = time.perf_counter(), time.process_time()
            # It counts steps, not nodes.
            walks = graph.simulate_walks(WALKS, LENGTH - 1)
            # As `embed` of PecanPy does.
            model = Word2Vec(
                walks, vector_size=dim, window=CONTEXT, sg=1, min_count=0, workers=options.workers, epochs=epochs,
                seed=seed, sample=options.sample,
            )
            elapsed, cpu = time.perf_counter() - start, time.process_time() - cpu
            np.save(options.vectors / f"{target}.npy", model.wv[ids])
            print(target, elapsed, cpu, file=seconds, flush=True)
            print(f"{target}: {elapsed:.1f} s, {cpu:.1f} s of processor", flush=True)


def auc(vectors, folder, unit):
    if unit:
        vectors = vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-12)
    scores = [
        np.einsum("ij,ij->i", vectors[a], vectors[b])
        for a, b in (np.loadtxt(folder / f"{part}.txt", dtype=int).T for part in ["test", "negatives"])
    ]
    high, low = scores
    # Ties count half.
    order = np.sort(low)
    wins = np.searchsorted(order, high, "left") + np.searchsorted(order, high, "right")
    return 100 * wins.mean() / (2 * len(low))


def seconds(folder):
    """Processor time of walks and skip-gram together, by run."""
    lines = (line.split() for line in (folder / "seconds.txt").read_text().splitlines())
    return {target: float(cpu) for target, _, cpu in lines}


def score(options):
    sides = [options.ours, options.pecanpy]
    times = [seconds(side) for side in sides]
    pair = "ours | PecanPy"
    head = f"dim | p, q | epochs | splits | cosine: {pair} | inner product: {pair} | seconds: {pair}"
    print(f"| {head} |\n|{'---|' * (head.count('|') + 1)}")
    for setting in SETTINGS:
        # Long runs may cover fewer splits; both sides are asked about the same ones.
        complete = [n for n in range(NUM_SPLITS) if all((side / f"{name(n, *setting)}.npy").exists() for side in sides)]
        if not complete:
            continue
        cells = [str(len(complete))]
        for unit, side in itertools.product([True, False], sides):
            found = [auc(np.load(side / f"{name(n, *setting)}.npy"), options.splits / str(n), unit) for n in complete]
            cells.append(f"{np.mean(found):.1f} ± {np.std(found):.1f}")
        cells += [f"{np.median([side[name(n, *setting)] for n in complete]):.1f}" for side in times]
        dim, p, q, epochs = setting
        print(f"| {dim} | {p}, {q} | {epochs} | {' | '.join(cells)} |")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(required=True)
    arguments = {split: ["cora", "splits"], nigh: ["splits", "vectors"], pecanpy: ["splits", "vectors"]}
    arguments[score] = ["splits", "ours", "pecanpy"]
    for action, folders in arguments.items():
        command = commands.add_parser(action.__name__)
        command.set_defaults(action=action)
        for folder in folders:
            command.add_argument(f"--{folder}", type=Path, required=True)
        if action is nigh:
            command.add_argument("--program", default="nigh")
        if action is pecanpy:
            command.add_argument("--workers", type=int, default=2)
            command.add_argument("--sample", type=float, default=1e-3, help="threshold of gensim's downsampling")
    options = parser.parse_args()
    options.action(options)
