"""Asks nigh and its peers for the same cases in turn, round by round, and says which bars hold."""

import argparse
import datetime
import importlib.metadata
import json
import os
import pathlib
import platform
import re
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

from asking import Worker, busy_seconds
from cases import BARS, CASES, FRESH, GENERATED, QUIET, expand, matches, shape_of
from times import duration, middle_of, per_edge, ratios

ROOT = pathlib.Path(__file__).parents[2]
SHAPES = ROOT / "target" / "benches" / "shapes"
RESULTS = ROOT / "benches" / "results" / "speed.json"
PEERS = ["torch", "torch-geometric", "scipy", "pycleora", "pecanpy", "gensim"]


class Record:
    """What was measured on this machine, case by case; written whenever a case is done, so a killed run keeps the rest."""

    def __init__(self, rounds):
        self.rounds = rounds
        stored = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
        self.all = stored if stored.get("machine") == machine() else {"machine": machine(), "cases": {}}
        # What pip resolved, a build label included.
        self.all["peers"] = {name: importlib.metadata.version(name) for name in PEERS}

    def keep(self, case, **measured):
        version = subprocess.run(["git", "describe", "--always", "--dirty"], cwd=ROOT, capture_output=True, text=True)
        about = {
            "date": datetime.date.today().isoformat(),
            "version": version.stdout.strip(),
            "rounds": self.rounds,
        }
        # A case measured without its peers keeps what is known of them no longer: the times would not be of one run.
        self.all["cases"][case] = about | measured
        RESULTS.parent.mkdir(exist_ok=True)
        whole = RESULTS.with_suffix(".new")
        whole.write_text(json.dumps(self.all, indent=1) + "\n")
        whole.replace(RESULTS)

    def seconds(self, case, side="nigh"):
        return self.all["cases"].get(case, {}).get("seconds", {}).get(side)


def machine():
    first = lambda path, name: re.search(rf"^{name}\s*:\s*(.*)$", pathlib.Path(path).read_text(), re.M)[1]
    memory = int(first("/proc/meminfo", "MemTotal").split()[0]) / 2**20
    return {
        "cores": os.cpu_count(),
        "processor": first("/proc/cpuinfo", "model name"),
        "memory": f"{memory:.0f} GiB",
        "kernel": platform.release(),
    }


def measure(case, sides, workers, rounds):
    """Seconds of every side in every round, what went wrong, and how many cores were busy with something else.

    A side that fails once is not asked again."""
    seconds, errors = {}, {}
    not_ours = lambda: busy_seconds() - sum(worker.processor_seconds() for worker in workers.values())
    start, others = time.perf_counter(), not_ours()
    for turn in range(rounds):
        for side in sides:
            if side in errors:
                continue
            print(f"\r\033[K{case}, round {turn + 1} of {rounds}: {side}", end="", file=sys.stderr, flush=True)
            answer = workers[side].ask(case=case, side=side, folder=str(SHAPES))
            if "error" in answer:
                errors[side] = answer["error"]
                seconds.pop(side, None)
            else:
                seconds.setdefault(side, []).append(answer["seconds"])
        if "nigh" in errors:
            break
    others = (not_ours() - others) / (time.perf_counter() - start)
    for side in sides:
        workers[side].drop()
    print("\r\033[K", end="", file=sys.stderr, flush=True)
    return {"seconds": seconds, "errors": errors, "others": round(max(others, 0), 2)}


def not_quiet(others):
    return f"  not quiet: others used {others} cores" if others > QUIET else ""


def show(case, seconds, errors, others):
    ours = seconds.get("nigh")
    time_of = duration(statistics.median(ours)) if ours else errors["nigh"]
    print(f"{case:40} {'nigh':14} {time_of:>10}{not_quiet(others)}", flush=True)
    for side, theirs in seconds.items():
        if side != "nigh" and ours:
            median, least, most = ratios(theirs, ours)
            time_of = duration(statistics.median(theirs))
            print(f"{'':40} {side:14} {time_of:>10} {median:8.1f} x  [{least:.1f} .. {most:.1f}]", flush=True)
    for side, error in errors.items():
        if side != "nigh":
            print(f"{'':40} {side:14} {error}", flush=True)


def program(command):
    """Seconds and peak memory of a whole process. The peak is read while it runs: what the system tells at its end
    includes what Python held when it started the process."""
    start, peak = time.perf_counter(), 0
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    status = pathlib.Path(f"/proc/{process.pid}/status")
    while process.poll() is None:
        # Gone once the process has ended and nobody has asked for its exit code.
        if found := re.search(r"VmHWM:\s*(\d+)", status.read_text()):
            peak = max(peak, int(found[1]) * 1024)
        time.sleep(0.001)
    if process.returncode:
        return {"error": f"{' '.join(map(str, command))} failed"}
    return {"seconds": time.perf_counter() - start, "peak_bytes": peak}


def ended_seconds():
    """Processor time of all the processes that we started and that have ended."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def fresh(case, worker, nigh):
    """One measurement in a process of its own."""
    kind, *rest = case.split("/")
    if kind == "start-up":
        return program([nigh, "--version"])
    if kind == "job":
        with tempfile.TemporaryDirectory() as folder:
            task = ["--task", "link-prediction", "--model", "smp-linear", "--protocol", "published"]
            epochs = ["--epochs", "1000", "--evaluate-every", "5", "--repeats", "1"]
            return program([nigh, "train", *rest, *task, *epochs, "--quiet", "--out", f"{folder}/model"])
    alone = Worker([worker])
    answer = alone.ask(case=case, folder=str(SHAPES))
    alone.close()
    return answer


def show_fresh(case, answers, record):
    if "error" in answers[0]:
        print(f"{case:40} {answers[0]['error']}", flush=True)
        return
    middle = middle_of(answers)
    text = f"{duration(middle['seconds']):>10}, {middle['peak_bytes'] / 2**20:.0f} MiB"
    if case.startswith("scale/"):
        text += ", an edge: {:.2f} ns a hop, {:.0f} bytes".format(*per_edge(middle))
        if smallest := record.all["cases"].get("scale/1m", {}).get("answers"):
            now, then = per_edge(middle), per_edge(middle_of(smallest))
            text += f" ({now[0] / then[0]:.2f} and {now[1] / then[1]:.2f} times those of 1m)"
    others = {name: value for name, value in middle.items() if name not in ("seconds", "peak_bytes")}
    if others:
        text += "  " + ", ".join(f"{name} {value:.6g}" for name, value in others.items())
    busy = not_quiet(record.all["cases"][case]["others"])
    print(f"{case:40} {'nigh':14} {text}{busy}", flush=True)


def show_bars(record, measured):
    print("\nBars")
    for pattern, peer, factor in BARS:
        for case in sorted(filter(lambda case: matches(case, [pattern]), measured)):
            ours = record.seconds(case)
            theirs = record.seconds(peer) if "/" in peer else record.seconds(case, peer)
            if ours and theirs:
                median, least, most = ratios(theirs, ours)
                # A busy machine is hardest on the side with the most barriers between threads, which is not ours.
                quiet = record.all["cases"][case]["others"] <= QUIET
                verdict = ("holds" if median >= factor else "MISSED") if quiet else "busy"
                print(f"{verdict:7} {case:40} {peer:18} {median:6.1f} of {factor:<4} [{least:.1f} .. {most:.1f}]")
            else:
                print(f"{'?':7} {case:40} {peer:18} not measured")


def main():
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("worker", help="nigh's worker, compiled")
    options.add_argument("nigh", help="the program")
    options.add_argument("--cases", nargs="+", default=["*"], metavar="PATTERN")
    options.add_argument("--rounds", type=int, default=5)
    options.add_argument("--no-peers", action="store_true")
    options = options.parse_args()

    cases = {case: peers for pattern, peers in CASES for case in expand(pattern) if matches(case, options.cases)}
    alone = [case for pattern in FRESH for case in expand(pattern) if matches(case, options.cases)]
    if not cases and not alone:
        sys.exit(f"no case is called {' or '.join(options.cases)}; benches/peers/cases.py lists them")
    record = Record(options.rounds)
    # One process per side: what one holds, or warms, is nobody else's.
    sides = sorted({side for peers in cases.values() for side in peers}) if not options.no_peers else []
    python = [sys.executable, "-W", "ignore", ROOT / "benches" / "peers" / "worker.py", "--threads", str(os.cpu_count())]
    workers = {"nigh": Worker([options.worker])} | {side: Worker(python) for side in sides}
    for shape in sorted({shape_of(case) for case in [*cases, *alone]} - {None}):
        if shape in GENERATED and (SHAPES / shape / "meta.json").exists():
            continue
        print(f"\r\033[Kwriting {shape}", end="", file=sys.stderr, flush=True)
        shutil.rmtree(SHAPES / shape, ignore_errors=True)
        answer = workers["nigh"].ask(write=shape, folder=str(SHAPES))
        if "error" in answer:
            sys.exit(f"{shape} could not be written: {answer['error']}")

    for case, peers in cases.items():
        measured = measure(case, ["nigh", *(side for side in peers if side in workers)], workers, options.rounds)
        if "nigh" in measured["seconds"]:
            record.keep(case, **measured)
        show(case, **measured)
    for worker in workers.values():
        worker.close()
    for case in alone:
        print(f"\r\033[K{case}", end="\r\033[K", file=sys.stderr, flush=True)
        # Whole jobs and large graphs take their time.
        turns = options.rounds if case == "start-up" else 1
        start, others = time.perf_counter(), busy_seconds() - ended_seconds()
        answers = [fresh(case, options.worker, options.nigh) for _ in range(turns)]
        others = (busy_seconds() - ended_seconds() - others) / (time.perf_counter() - start)
        if "error" not in answers[0]:
            record.keep(case, answers=answers, others=round(max(others, 0), 2))
        show_fresh(case, answers, record)
    if not options.no_peers:
        show_bars(record, cases)


if __name__ == "__main__":
    main()
