"""Asks the workers of another commit and of this tree for the same cases in turn, and shows what moved."""

import argparse
import pathlib
import statistics
import subprocess
import sys

from asking import Worker
from build import build
from cases import CASES, expand, matches
from times import duration

ROOT = pathlib.Path(__file__).parents[2]
MOVED = 0.1


def git(*words):
    done = subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True)
    return done.stdout.strip() if done.returncode == 0 else None


def worker_of(base):
    """Builds the worker of a commit, in a tree of its own whose target folder stays for the next time."""
    commit = git("rev-parse", "--verify", "--quiet", f"{base}^{{commit}}")
    if commit is None:
        sys.exit(f"{base} is no commit here")
    if not git("ls-tree", "--name-only", commit, "crates/nigh/benches/speed/main.rs", "crates/nigh/benches/speed.rs"):
        sys.exit(f"{base} has no worker to compare with: the benchmark came later")
    tree = ROOT / "target" / "compare" / "tree"
    if not tree.exists():
        git("worktree", "prune")
        git("worktree", "add", "--detach", str(tree), commit)
    subprocess.run(["git", "checkout", "--quiet", "--detach", commit], cwd=tree, check=True)
    program = build(tree, ROOT / "target" / "compare" / "target")
    if program is None:
        sys.exit(f"the worker of {base} does not build")
    return program


def main():
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("base", metavar="BASE", help="a commit, tag or branch")
    options.add_argument("--cases", nargs="+", default=["*"], metavar="PATTERN")
    options.add_argument("--rounds", type=int, default=5)
    options = options.parse_args()

    before, now = Worker([worker_of(options.base)]), Worker([build(ROOT) or sys.exit("this tree does not build")])
    cases = [case for pattern, _ in CASES for case in expand(pattern) if matches(case, options.cases)]
    moved, skipped = 0, []
    for case in cases:
        seconds = {before: [], now: []}
        for turn in range(options.rounds):
            print(f"\r\033[K{case}, round {turn + 1} of {options.rounds}", end="", file=sys.stderr, flush=True)
            for worker, list_of in seconds.items():
                answer = worker.ask(case=case)
                list_of += [answer["seconds"]] if "seconds" in answer else []
        print("\r\033[K", end="", file=sys.stderr, flush=True)
        before.drop(), now.drop()
        if not all(seconds.values()):
            skipped.append(case)
            continue
        old, new = statistics.median(seconds[before]), statistics.median(seconds[now])
        if abs(new / old - 1) > MOVED:
            moved += 1
            apart = max(seconds[now]) < min(seconds[before]) or max(seconds[before]) < min(seconds[now])
            doubt = "" if apart else "  (rounds overlap: perhaps noise)"
            word = "faster" if new < old else "slower"
            factor = max(old / new, new / old)
            print(f"{case:40} {duration(old):>10} -> {duration(new):>10}  {factor:.2f} times {word}{doubt}", flush=True)
    print(f"{moved} of {len(cases) - len(skipped)} cases moved by more than {MOVED:.0%} since {options.base}")
    if skipped:
        print(f"not known to both: {', '.join(skipped)}")


if __name__ == "__main__":
    main()
