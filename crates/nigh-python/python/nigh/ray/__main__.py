"""``python -m nigh.ray propagate edges/ --out vectors``: for ``ray job submit``."""

from __future__ import annotations

import argparse
import inspect
import json
import sys
from dataclasses import asdict
from typing import Any

from .._errors import NighError
from ._calls import CALLS, CHOICES, DEFAULTS


def main(arguments: list[str] | None = None) -> int:
    """Runs a command; the result is printed as JSON."""
    parser = _parser()
    known, rest = parser.parse_known_args(arguments)
    given = vars(known)
    command = given.pop("command")
    if rest and command != "train":
        parser.error(f"unrecognized arguments: {' '.join(rest)}")
    if len(rest) % 2 or not all(name.startswith("--") for name in rest[::2]):
        parser.error(f"expected settings as --name value: {' '.join(rest)}")
    # Settings of a training, which the engine knows.
    given.update({name[2:].replace("-", "_"): value for name, value in zip(rest[::2], rest[1::2], strict=True)})
    call = CALLS[command]
    positional = [given.pop(name) for name in _positional(call)]
    if given.pop("no_weight"):
        given["weight"] = False
    try:
        result = call(*positional, **given)
    except (NighError, ImportError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    print(json.dumps(asdict(result)))
    return 0


def _positional(call: Any) -> list[str]:
    parameters = inspect.signature(call).parameters.values()
    return [parameter.name for parameter in parameters if parameter.kind is parameter.POSITIONAL_OR_KEYWORD]


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser("python -m nigh.ray", description="Graphs beyond one machine, on Ray.")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    for name, call in CALLS.items():
        about = (call.__doc__ or "").strip().splitlines()[0]
        more = " Settings of `nigh train` are options as well." if name == "train" else ""
        command = commands.add_parser(name, help=about, description=about + more)
        for parameter in inspect.signature(call).parameters.values():
            if parameter.kind is parameter.POSITIONAL_OR_KEYWORD and parameter.name != "out":
                command.add_argument(parameter.name)
            elif parameter.kind is not parameter.VAR_KEYWORD:
                _add(command, parameter.name, parameter.default)
        for option, default in DEFAULTS.items():
            _add(command, option, default)
        command.add_argument("--no-weight", action="store_true", help="edges are all alike")
    return parser


def _add(command: argparse.ArgumentParser, name: str, default: Any) -> None:
    """An option, of the type of its default."""
    option = f"--{name.replace('_', '-')}"
    if default is inspect.Parameter.empty:
        command.add_argument(option, required=True, type=int if name == "pairs_per_epoch" else str, metavar=name.upper())
    elif isinstance(default, bool):
        command.add_argument(option, action=argparse.BooleanOptionalAction, default=default)
    elif name == "storage_options":
        command.add_argument(option, type=json.loads, metavar="JSON")
    else:
        kind = int if isinstance(default, int) or name == "num_workers" else str
        shown = None if default is None else f"[default: {default}]"
        choices = CHOICES.get(name)
        metavar = None if choices else name.upper()
        command.add_argument(option, type=kind, default=default, choices=choices, metavar=metavar, help=shown)


if __name__ == "__main__":
    sys.exit(main())
