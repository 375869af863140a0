"""``python -m nigh.ray propagate edges/ --out vectors``: for ``ray job submit``."""

from __future__ import annotations

import argparse
import inspect
import json
import sys
from dataclasses import asdict
from typing import Any

from .._errors import NighError
from . import _calls

#: What each command does.
COMMANDS = {"propagate": _calls.propagate}


def main(arguments: list[str] | None = None) -> int:
    """Runs a command; the result is printed as JSON."""
    given = vars(_parser().parse_args(arguments))
    call, positional = COMMANDS[given.pop("command")], []
    for parameter in inspect.signature(call).parameters.values():
        if parameter.kind is parameter.POSITIONAL_OR_KEYWORD:
            positional.append(given.pop(parameter.name))
    if given.pop("no_weight"):
        given["weight"] = False
    try:
        result: Any = call(*positional, **given)
    except (NighError, ImportError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    print(json.dumps(asdict(result)))
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser("python -m nigh.ray", description="Graphs beyond one machine, on Ray.")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    for name, call in COMMANDS.items():
        about = (call.__doc__ or "").strip().splitlines()[0]
        command = commands.add_parser(name, help=about, description=about)
        for parameter in inspect.signature(call).parameters.values():
            _add(command, parameter)
        command.add_argument("--no-weight", action="store_true", help="edges are all alike")
    return parser


def _add(command: argparse.ArgumentParser, parameter: inspect.Parameter) -> None:
    """The options are the parameters of the function, whose defaults show what they take."""
    option, default = f"--{parameter.name.replace('_', '-')}", parameter.default
    if parameter.name == "out":
        command.add_argument(option, required=True, metavar="FOLDER")
    elif parameter.kind is parameter.POSITIONAL_OR_KEYWORD:
        command.add_argument(parameter.name)
    elif isinstance(default, bool):
        command.add_argument(option, action=argparse.BooleanOptionalAction, default=default)
    elif parameter.name == "storage_options":
        command.add_argument(option, type=json.loads, metavar="JSON")
    else:
        kind = int if "int" in str(parameter.annotation) and parameter.name != "memory" else str
        command.add_argument(option, type=kind, default=default, metavar=parameter.name.upper(), help=f"[default: {default}]")


if __name__ == "__main__":
    sys.exit(main())
