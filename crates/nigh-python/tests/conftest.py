"""What several tests use: a graph that trains in milliseconds, and the program."""

from __future__ import annotations

import os
import secrets
from pathlib import Path

import pytest

import nigh


@pytest.fixture(scope="session")
def communities() -> nigh.Graph:
    """400 nodes of ten communities, with classes."""
    return nigh.Graph("communities")


@pytest.fixture(scope="session")
def ray_token() -> str:
    """One for all clusters of this process, which reads it once."""
    return secrets.token_hex(32)


@pytest.fixture(scope="session")
def program() -> Path:
    """The program, where it was built from this clone."""
    built = Path(__file__).resolve().parents[3] / "target" / "release" / "nigh"
    path = Path(os.environ.get("NIGH_PROGRAM", built))
    if not path.exists():
        pytest.skip(f"there is no {path}: cargo build --release")
    return path
