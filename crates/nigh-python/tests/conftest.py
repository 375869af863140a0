"""What several tests use: a graph that trains in milliseconds, and the program."""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterator
from pathlib import Path

import pytest

import nigh
from ray_graphs import Graph


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


@pytest.fixture(scope="module")
def graphs(tmp_path_factory: pytest.TempPathFactory, program: Path) -> dict[str, Graph]:
    folder = tmp_path_factory.mktemp("graphs")
    return {kind: Graph(folder, program, kind) for kind in ("counted", "holes", "weighted", "names")}


@pytest.fixture(scope="module")
def kills(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("kills")


@pytest.fixture(scope="module")
def cluster(kills: Path, ray_token: str) -> Iterator[None]:
    """Ray with room for four workers, as `nigh.ray` starts it."""
    ray = pytest.importorskip("ray")
    from nigh.ray import _workers

    with pytest.MonkeyPatch.context() as patch:
        # A token of these tests alone, and not in a file of the user.
        patch.setenv("RAY_AUTH_TOKEN", ray_token)
        patch.delenv("RAY_AUTH_MODE", raising=False)
        patch.setenv("NIGH_RAY_KILL", str(kills))
        _workers.start(ray, 4)
        yield
        ray.shutdown()
