"""Graphs for the tests of `nigh.ray`, and what the program makes of them."""

from __future__ import annotations

import hashlib
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest

NODES, EDGES, PARTS = 1_500, 12_000, 3


def sha256(path: str | Path) -> str:
    return hashlib.sha256(Path(str(path).removeprefix("file://")).read_bytes()).hexdigest()


class Graph:
    """Edges with self loops, repetitions and holes in the ids, in one file and in parts; and what the program makes of them."""

    def __init__(self, folder: Path, program: Path, kind: str) -> None:
        draw = np.random.default_rng(len(kind))
        # Powers make hubs of the first.
        edges = (NODES * draw.random((EDGES, 2)) ** 2).astype(int)
        edges[::50, 1] = edges[::50, 0]
        edges[1::40] = edges[::40, ::-1]
        kinds: dict[str, list[Any]] = {
            "counted": list(range(NODES)),
            "holes": [7 * node - 100 for node in range(NODES)],
            "weighted": [3 * node for node in range(NODES)],
            "names": [f"{'äb.'[node % 3]}{node:x}" if node % 4 else node for node in range(NODES)],
        }
        names = kinds[kind]
        if kind == "counted":
            edges[:NODES, 0] = np.arange(NODES)
        rows = [[names[a], names[b]] for a, b in edges]
        header = ["source", "target"]
        if kind == "weighted":
            rows = [[*row, (1 + at % 9) / 4] for at, row in enumerate(rows)]
            header.append("weight")
        self.parts = folder / kind
        self.parts.mkdir()
        for part in range(PARTS):
            self.write(self.parts / f"{part}.{'parquet' if part == 1 else 'csv'}", header, rows[part::PARTS])
        (self.parts / "_SUCCESS").touch()
        whole, self.stored = folder / f"{kind}.csv", folder / f"{kind}.nigh"
        self.write(whole, header, rows)
        self.names, self.program = names, program
        self.call("data", "convert", whole, "--out", self.stored)

    @staticmethod
    def write(path: Path, header: list[str], rows: list[list[Any]]) -> None:
        if path.suffix == ".csv":
            path.write_text("\n".join(",".join(map(str, row)) for row in [header, *rows]) + "\n")
            return
        pandas = pytest.importorskip("pandas")
        frame = pandas.DataFrame(rows, columns=header)
        # A column has one type.
        if any(isinstance(value, str) for value in frame["source"]):
            frame = frame.astype({"source": str, "target": str})
        frame.to_parquet(path)

    def call(self, *arguments: object) -> None:
        subprocess.run([self.program, *map(str, arguments)], check=True, capture_output=True)

    def features(self, path: Path, turned: bool = False) -> Path:
        """A file of features of all nodes, also of those without an edge; `turned`, with columns in another order."""
        values = np.random.default_rng(5).random((NODES, 20)).astype(np.float32).round(3)
        if path.suffix == ".npy":
            np.save(path, values)
            return path
        rows = [[name, *map(float, row)] for name, row in zip(self.names, values, strict=True)]
        header = ["id", *(f"f{column}" for column in range(20))]
        if turned:
            header, rows = [header[0], *header[:0:-1]], [[row[0], *row[:0:-1]] for row in rows]
        if path.suffix == ".csv":
            self.write(path, header, rows)
        else:
            pytest.importorskip("pandas").DataFrame(rows, columns=header).to_parquet(path)
        return path

    def vectors(self, *options: str) -> str:
        """The digest of what `nigh propagate` writes."""
        out = self.stored.with_suffix(".npy")
        self.call("propagate", self.stored, "--out", out, "--signal-dim", "24", *options)
        return hashlib.sha256(np.load(out).tobytes()).hexdigest()


def folder_digest(folder: Path) -> dict[str, str]:
    """The digest of each file."""
    return {path.name: sha256(path) for path in folder.iterdir()}
