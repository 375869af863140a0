"""Showing how far long work is: a bar of tqdm where it is installed, a plain line otherwise."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from types import TracebackType
from typing import Any


@dataclass(frozen=True)
class Progress:
    """How far a training is, as a callback gets it after every epoch."""

    #: Counted from zero.
    repeat: int
    #: Their number.
    repeats: int
    #: Counted from one.
    epoch: int
    #: Their number.
    epochs: int
    #: Training loss of the epoch.
    loss: float
    #: The metric on the validation part, where the epoch was evaluated.
    valid: float | None


class Watch:
    """Receives the events of the engine, shows them, and calls the user back."""

    def __init__(self, show: bool, callback: Callable[[Progress], Any] | None, total: int | None = None) -> None:
        self.callback = callback
        self.line = line(total) if show else None
        self.model = ""
        self.done = 0

    def __enter__(self) -> Watch:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if self.line is not None:
            self.line.close()

    @property
    def listens(self) -> bool:
        return self.callback is not None or self.line is not None

    def __call__(self, event: dict[str, Any]) -> bool:
        kind = event["kind"]
        if self.line is not None:
            self.show(kind, event)
        if kind == "epoch" and self.callback is not None:
            stop = self.callback(
                Progress(
                    event["repeat"], event["repeats"], event["epoch"], event["epochs"], event["loss"], event.get("valid")
                )
            )
            return stop is True
        return False

    def show(self, kind: str, event: dict[str, Any]) -> None:
        assert self.line is not None
        if kind == "planned":
            self.line.total = event["total"]
        elif kind == "begins":
            self.model, self.done = f"{event['model']}, seed {event['seed']}: ", event["done"]
        elif kind == "epoch" and self.model:
            self.line.at(self.done, f"{self.model}epoch {event['epoch']}/{event['epochs']}")
        elif kind == "epoch":
            valid = f", valid {100 * event['valid']:.1f} %" if "valid" in event else ""
            self.line.total = event["repeats"] * event["epochs"]
            self.line.at(
                event["repeat"] * event["epochs"] + event["epoch"],
                f"repeat {event['repeat'] + 1}/{event['repeats']}, epoch {event['epoch']}/{event['epochs']}{valid}",
            )
        elif kind == "step":
            share = f" {event['done']}/{event['total']}" if event["total"] > 1 else ""
            self.line.say(f"{self.model}{event['what']}{share}")
        elif kind == "ends":
            self.line.at(self.done + 1, f"{self.model}{100 * event['test']:.1f} %")


class PlainLine:
    """One line on stderr that is written over, for terminals."""

    def __init__(self, total: int | None) -> None:
        self.total = total
        self.length = 0
        self.written = 0.0

    def at(self, done: int, text: str) -> None:
        share = f"{100 * done / self.total:3.0f} % " if self.total else ""
        self.say(share + text)

    def say(self, text: str) -> None:
        if time.monotonic() - self.written < 0.1:
            return
        self.written = time.monotonic()
        sys.stderr.write("\r" + text.ljust(self.length))
        sys.stderr.flush()
        self.length = len(text)

    def close(self) -> None:
        if self.length:
            sys.stderr.write("\r" + " " * self.length + "\r")
            sys.stderr.flush()


class Bar:
    """A bar of tqdm, which suits terminals and notebooks."""

    def __init__(self, tqdm: Any, total: int | None) -> None:
        self.total = total
        self.bar = tqdm(total=total, leave=False, bar_format="{percentage:3.0f} %|{bar}| {desc} [{elapsed}<{remaining}]")

    def at(self, done: int, text: str) -> None:
        if self.bar.total != self.total:
            self.bar.total = self.total
        self.bar.set_description_str(text, refresh=False)
        self.bar.n = done
        self.bar.refresh()

    def say(self, text: str) -> None:
        self.bar.set_description_str(text)

    def close(self) -> None:
        self.bar.close()


def line(total: int | None) -> Bar | PlainLine | None:
    """What shows progress here; nothing where nobody looks."""
    try:
        from tqdm.auto import tqdm
    except ImportError:
        return PlainLine(total) if sys.stderr.isatty() else None
    in_notebook = "ipykernel" in sys.modules
    return Bar(tqdm, total) if in_notebook or sys.stderr.isatty() else None
