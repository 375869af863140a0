"""What goes wrong, as exceptions of Python; and what is worth knowing, as warnings."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterable


LONGEST_MESSAGE = 1600


def brief(message: str) -> str:
    """The start and the end of a message that quotes something long."""
    if len(message) <= LONGEST_MESSAGE:
        return message
    end = LONGEST_MESSAGE // 4
    start = LONGEST_MESSAGE - end
    return f"{message[:start]}[{len(message) - start - end} characters]{message[-end:]}"


class NighError(Exception):
    """Every error of nigh."""

    def __init__(self, *arguments: object) -> None:
        super().__init__(*(brief(given) if isinstance(given, str) else given for given in arguments))


class InputError(NighError, ValueError):
    """Data, a name or a setting that can't be used; the message says what would be right."""


class FileError(NighError, OSError):
    """A file or folder that can't be read or written."""


class Note(UserWarning):
    """A remark on what was read, cleaned or measured.

    ``warnings.simplefilter("ignore", nigh.Note)`` silences them.
    """


def note(remarks: Iterable[str]) -> None:
    """Warns of each remark, at the line of the user's call."""
    for remark in remarks:
        warnings.warn(brief(remark), Note, stacklevel=_depth())


def _depth() -> int:
    """The place of the user's line in the stack, counted from the function that asks."""
    frame, depth = sys._getframe(1), 1
    while frame.f_back is not None and frame.f_globals.get("__package__") == __package__:
        frame, depth = frame.f_back, depth + 1
    return depth
