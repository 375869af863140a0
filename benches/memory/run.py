"""Estimates against measured peaks: draws graphs, runs the program with each setting, and compares its peak of memory with `nigh estimate`.

    python3 benches/memory/run.py [--only TEXT] [--folder FOLDER] [--out FILE]

See README.md in this folder. Nothing but the standard library is needed.
"""

import argparse
import array
import datetime
import json
import os
import platform
import random
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
NIGH = ROOT / "target/release/nigh"
DRAW = ROOT / "target/release/examples/large_graph"

# Nodes and draws of `large_graph`; some draws coincide, and nodes without an edge are left out.
GRAPHS = {"small": (200_000, 1_100_000), "medium": (1_000_000, 7_500_000), "large": (2_000_000, 40_000_000)}
NUM_FEATURES, NUM_CLASSES, NUM_PAIRS = 58, 20, 100_000
SHORT = "--epochs 3 --repeats 1"
SAMPLED = "--model smp-linear --pairs-per-epoch 20480 --batch-size 2048 --epochs 30 --repeats 1"
LINEAR = f"--model smp-linear {SHORT}"
PROXIMITY = "--model smp-proximity --epochs 10 --repeats 1"
CLASSES = "--task node-classification --labels {labels}"
FEATURES = "--features {features}"

# Graph, command, settings, limit.
SETTINGS = [
    ("large", "propagate", "", None),
    ("large", "propagate", "", "400MiB"),
    ("large", "propagate", "--signal-dim 64 --hop-storage float16", "500MiB"),
    ("large", "train", SAMPLED, None),
    ("large", "train", SAMPLED, "900MiB"),
    ("large", "train", f"{SAMPLED} {FEATURES}", None),
    ("large", "embed", SAMPLED, "500MiB"),
    ("large", "predict", SAMPLED, "500MiB"),
    ("medium", "train", PROXIMITY, None),
    ("medium", "train", PROXIMITY, "1GiB"),
    ("medium", "evaluate", PROXIMITY, None),
    ("medium", "evaluate", PROXIMITY, "600MiB"),
    ("medium", "embed", PROXIMITY, "1GiB"),
    ("medium", "predict", PROXIMITY, None),
    ("medium", "train", LINEAR, None),
    ("medium", "embed", LINEAR, None),
    ("medium", "train", f"{LINEAR} {CLASSES}", None),
    ("medium", "train", f"--model gcn {SHORT} {FEATURES} {CLASSES}", None),
    ("small", "train", PROXIMITY, None),
    ("small", "train", f"{LINEAR} {FEATURES}", None),
    ("small", "train", f"--model gcn {SHORT}", None),
    ("small", "train", f"--model gcn {SHORT} {FEATURES}", None),
    ("small", "embed", f"--model gcn {SHORT} {FEATURES}", None),
    ("small", "train", f"{PROXIMITY} {FEATURES}", None),
    ("small", "train", f"--model smp-gated {SHORT} {FEATURES} {CLASSES}", None),
    ("small", "predict", f"--model smp-gated {SHORT} {FEATURES} {CLASSES}", None),
    ("medium", "train", f"{PROXIMITY} {FEATURES}", None),
    ("medium", "train", f"{PROXIMITY} {FEATURES}", "4GiB"),
    ("medium", "predict", f"{PROXIMITY} {FEATURES}", "2500MiB"),
]


def run(*command):
    """The output of a command and its peak of memory in bytes."""
    with open(os.devnull) as nothing, subprocess.Popen(
        [str(part) for part in command], stdin=nothing, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        out, error = process.stdout.read(), process.stderr.read()
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        raise SystemExit(f"{' '.join(map(str, command))}: {error.strip()}")
    return out, usage.ru_maxrss * 1024


def prepare(folder, name):
    """A graph file with features, labels and pairs."""
    files = {what: folder / f"{name}-{what}" for what in ("graph.nigh", "features.npy", "labels.csv", "pairs.csv")}
    if not files["graph.nigh"].exists():
        nodes, draws = GRAPHS[name]
        print(run(DRAW, files["graph.nigh"], nodes, draws, "4GiB")[0].strip(), file=sys.stderr)
    nodes, edges = size(files["graph.nigh"])
    if not files["pairs.csv"].exists():
        lot = random.Random(1)
        header = f"{{'descr': '<f4', 'fortran_order': False, 'shape': ({nodes}, {NUM_FEATURES}), }}"
        header = header.ljust(117) + "\n"
        with open(files["features.npy"], "wb") as file:
            file.write(b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header.encode())
            for _ in range(0, nodes, 1000):
                rows = array.array("f", (lot.random() for _ in range(1000 * NUM_FEATURES // 10))) * 10
                file.write(rows.tobytes())
            file.truncate(10 + len(header) + 4 * nodes * NUM_FEATURES)
        ids = node_ids(folder, files["graph.nigh"])
        with open(files["labels.csv"], "w") as file:
            file.writelines(f"{node},c{lot.randrange(NUM_CLASSES)}\n" for node in ids)
        with open(files["pairs.csv"], "w") as file:
            file.writelines(f"{lot.choice(ids)},{lot.choice(ids)}\n" for _ in range(NUM_PAIRS))
    return files, nodes, edges


def size(graph):
    found = json.loads(run(NIGH, "estimate", graph, "--json")[0])
    return found["num_nodes"], found["num_edges"]


def node_ids(folder, graph):
    """The names of the nodes: those without an edge are left out."""
    out = folder / "ids.npy"
    run(NIGH, "propagate", graph, "--signal-dim", 1, "--hops", 1, "--out", out, "-q")
    return Path(f"{out}.ids.txt").read_text().split()


def estimate(files, command, settings, limit):
    """Bytes that `nigh estimate` says."""
    limit = ["--memory", limit] if limit else []
    found, _ = run(NIGH, "estimate", files["graph.nigh"], *settings, "--num-pairs", NUM_PAIRS, *limit, "--json")
    found = json.loads(found)
    return {"propagate": found["propagation"], **found["runs"]}[command]


def train(folder, files, settings, limit):
    """The folder of a trained model and the peak of its training. One without a limit serves every command."""
    key = " ".join([str(files["graph.nigh"]), *settings])
    if limit or key not in TRAINED:
        model = folder / f"model-{len(TRAINED)}{'-limited' if limit else ''}"
        for old in [*model.glob("*"), *folder.glob(f"{model.name}.checkpoint")]:
            old.unlink()
        if model.exists():
            model.rmdir()
        limits = ["--memory", limit] if limit else []
        peak = run(NIGH, "train", files["graph.nigh"], *settings, *limits, "--out", model, "-q")[1]
        if limit:
            return model, peak
        TRAINED[key] = model, peak
    return TRAINED[key]


# Models by their settings.
TRAINED = {}


def measured(folder, files, command, settings, limit):
    """The peak of a run."""
    graph, out = files["graph.nigh"], folder / "out"
    limits = ["--memory", limit] if limit else []
    if command == "propagate":
        return run(NIGH, "propagate", graph, *settings, *limits, "--out", f"{out}.npy", "-q")[1]
    if command == "train":
        return train(folder, files, settings, limit)[1]
    model, _ = train(folder, files, settings, None)
    data = [part for flag in ("--features", "--labels") if flag in settings for part in (flag, settings[settings.index(flag) + 1])]
    more = {"embed": ["--out", f"{out}.npy"], "evaluate": [], "predict": ["--out", f"{out}.csv"]}[command]
    if command == "predict" and "--labels" not in settings:
        more += ["--pairs", files["pairs.csv"]]
    return run(NIGH, command, model, graph, *data, *more, *limits, "-q")[1]


def main():
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--only", default="", help="settings whose line contains this text")
    options.add_argument("--folder", type=Path, default=ROOT / "target/memory", help="where graphs are drawn and kept")
    options.add_argument("--out", type=Path, default=ROOT / "benches/results/memory.json")
    options.add_argument("--peaks", type=Path, help="take peaks from an earlier result, and only estimate again")
    options = options.parse_args()
    options.folder.mkdir(parents=True, exist_ok=True)
    known = {row["setting"]: row["peak"] for row in json.loads(options.peaks.read_text())["settings"]} if options.peaks else {}
    rows, wrong = [], 0
    print(f"{'graph':8}{'command':11}{'limit':9}{'plan':12}{'estimate':>10}{'peak':>10}{'ratio':>7}  settings")
    for name, command, settings, limit in SETTINGS:
        setting = " ".join(filter(None, (name, command, limit or "-", settings)))
        if options.only not in setting:
            continue
        files, nodes, edges = prepare(options.folder, name)
        given = settings.format(features=files["features.npy"], labels=files["labels.csv"]).split()
        peak = known[setting] if setting in known else measured(options.folder, files, command, given, limit)
        try:
            found = estimate(files, command, given, limit)
        except SystemExit as error:
            found = {"memory_bytes": 0, "way": "?"}
        bytes_, plan = found["memory_bytes"], found["way"]
        ratio = bytes_ / peak
        wrong += not 1.0 <= ratio <= 1.3
        mib = lambda count: f"{count / 2**20:.0f} MiB"
        shown = re.sub(r"\{(\w+)\}", r"\1", settings)
        print(f"{name:8}{command:11}{limit or '-':9}{plan:12}{mib(bytes_):>10}{mib(peak):>10}{ratio:7.2f}  {shown}", flush=True)
        rows.append({"setting": setting, "nodes": nodes, "edges": edges, "way": plan, "estimate": bytes_, "peak": peak})
    commit = subprocess.run(["git", "rev-parse", "--short", "HEAD"], cwd=ROOT, capture_output=True, text=True).stdout.strip()
    machine = f"{os.cpu_count()} cores, {platform.machine()}, {platform.system()}"
    result = {"date": str(datetime.date.today()), "version": commit, "machine": machine, "settings": rows}
    options.out.write_text(json.dumps(result, indent=2) + "\n")
    print(f"{len(rows) - wrong} of {len(rows)} between 1.0 and 1.3")
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main())
