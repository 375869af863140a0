"""Builds nigh's worker of the tree in the working folder and prints its path; fails where there is no worker."""

import json
import subprocess
import sys

COMMAND = "cargo bench --locked -p nigh --bench speed --no-run --message-format json".split()


def build(folder=".", target=None):
    """The compiled worker, or None where it does not build."""
    command = COMMAND + (["--target-dir", str(target)] if target else [])
    built = subprocess.run(command, cwd=folder, stdout=subprocess.PIPE, text=True)
    messages = [json.loads(line) for line in built.stdout.splitlines() if line.startswith("{")]
    programs = [message["executable"] for message in messages if message.get("executable")]
    return programs[-1] if built.returncode == 0 and programs else None


if __name__ == "__main__":
    worker = build()
    sys.exit("nigh's worker does not build") if worker is None else print(worker)
