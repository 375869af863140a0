"""``python -m nigh ...`` is the program."""

from __future__ import annotations

import signal
import sys

from ._nigh import program


def main() -> int:
    """Runs the program with the arguments of the command line."""
    # The program looks after Ctrl-C itself; Python's handler would keep it from that.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    return program(["nigh", *sys.argv[1:]])


if __name__ == "__main__":
    sys.exit(main())
