"""A worker, and how it is asked: one line of JSON there, one back."""

import json
import os
import pathlib
import subprocess


class Worker:
    def __init__(self, command):
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def ask(self, **request):
        """Its answer; a worker that died answers with an error, now and later."""
        try:
            self.process.stdin.write(json.dumps(request) + "\n")
            self.process.stdin.flush()
            line = self.process.stdout.readline()
        except BrokenPipeError:
            line = ""
        return json.loads(line) if line else {"error": f"the worker ended ({self.process.wait()})"}

    def drop(self):
        """Has it forget its last case, whose graph may be large."""
        self.ask(case="none", side="none")

    def processor_seconds(self):
        """Of all its threads, so far."""
        path = pathlib.Path(f"/proc/{self.process.pid}/stat")
        # User and system time; the name before them may hold blanks.
        fields = path.read_text().rsplit(")", 1)[1].split() if path.exists() else [0] * 13
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def close(self):
        self.process.stdin.close()
        self.process.wait()


def busy_seconds():
    """Processor time that the whole machine has spent on anything, over all cores."""
    user, nice, system = pathlib.Path("/proc/stat").read_text().split()[1:4]
    return (int(user) + int(nice) + int(system)) / os.sysconf("SC_CLK_TCK")
