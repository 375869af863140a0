"""What is too large for memory, a disk or a message is an error: never the end of the process, and never a page of text."""

from __future__ import annotations

import re
import subprocess
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import nigh

RING = np.stack([np.arange(10), (np.arange(10) + 1) % 10], axis=1)


def ring(**given: Any) -> nigh.Graph:
    return nigh.Graph(RING, **given)


# In a process of its own ------------------------------------------------------------------------------------------------

CHILD = """
import resource, sys
import numpy as np, scipy.sparse as sp
import nigh
resource.setrlimit(resource.RLIMIT_AS, (int(sys.argv[1]),) * 2)
ring = np.stack([np.arange(10), (np.arange(10) + 1) % 10], axis=1)
def wide(cols):
    return sp.csr_matrix((np.ones(10, dtype=np.float32), np.arange(10) * (cols // 10), np.arange(11)), shape=(10, cols))
try:
    exec(sys.argv[2])
except (nigh.NighError, TypeError) as error:
    print(type(error).__name__, error)
"""


def child(code: str, limit: int = 6 << 30) -> str:
    """What is raised by code that may end its process."""
    done = subprocess.run(
        [sys.executable, "-c", CHILD, str(limit), code], capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=300
    )
    assert done.returncode == 0, f"ended with {done.returncode}: {done.stderr[-2000:]}"
    return done.stdout


TOO_LARGE: dict[str, tuple[str, str]] = {
    "a trillion columns": (
        "nigh.Graph(ring, features=wide(10**12))",
        "InputError sparse features of 10 × 1000000000000 with 10 entries would take 16.0 TB of memory, .*hashing",
    ),
    "2^31 columns": ("nigh.Graph(ring, features=wide(2**31 - 1))", "InputError .*10 × 2147483647.* would take 34.4 GB"),
    "a hundred million columns in training": (
        "nigh.train(nigh.Graph(ring, features=wide(10**8)), model='gcn', epochs=1)",
        "InputError .*100000000 features and width 32.* would take .* GB of memory.*truncated SVD",
    ),
    "a trillion classes": (
        "nigh.Graph(ring, labels=wide(10**12))",
        "^$",
    ),
    "a trillion rows": (
        "nigh.Graph(ring, features=sp.coo_matrix(([1.0], ([0], [0])), shape=(10**12, 2)))",
        "InputError features of 1000000000000 × 2 .* would take 16.0 TB",
    ),
    "nodes without number": ("nigh.Graph(ring, nodes=2**31 - 1)", "InputError a graph of 2147483647 nodes would take"),
    "nodes of an empty matrix": (
        "nigh.Graph(sp.coo_matrix(([1.0], ([0], [1])), shape=(2**31 - 1,) * 2))",
        "InputError a graph of 2147483647 nodes would take",
    ),
    "nodes beside names": (
        "nigh.Graph([('a', 'b'), ('b', 'c')], nodes=2**31 - 1)",
        "InputError a graph of 2147483647 nodes would take",
    ),
    "columns of a full matrix": (
        "nigh.Graph(ring, features=np.broadcast_to(np.float32(1), (10, 10**9)))",
        "InputError features of 10 × 1000000000 would take 40.0 GB",
    ),
}


@pytest.mark.skipif(sys.platform != "linux", reason="RLIMIT_AS is that of Linux")
@pytest.mark.parametrize("case", TOO_LARGE)
def test_what_does_not_fit_into_memory_is_an_error_and_not_the_end_of_the_process(case: str) -> None:
    code, message = TOO_LARGE[case]
    assert re.search(message, child(code).strip()), child(code)


@pytest.mark.skipif(sys.platform != "linux", reason="RLIMIT_AS is that of Linux")
def test_a_small_file_of_very_many_edges_is_refused_before_it_fills_the_memory(tmp_path: Path) -> None:
    pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    rows, limit = 1 << 20, 5 << 28
    parquet, arrow = tmp_path / "edges.parquet", tmp_path / "edges.arrow"
    table = pa.table({"source": np.zeros(rows, dtype=np.int64), "target": np.ones(rows, dtype=np.int64)})
    with pq.ParquetWriter(parquet, table.schema) as writer:
        for _ in range(60):
            writer.write_table(table, row_group_size=rows)
    assert parquet.stat().st_size < 1 << 20
    message = "edges.parquet: a graph of its 62914560 rows would take 1.3 GB of memory.*write a graph file"
    assert re.search(message, child(f"nigh.Graph({str(parquet)!r})", limit))
    assert "2 nodes, 1 edge" in child(f"print(nigh.Graph({str(parquet)!r}))")
    # Arrow does not say beforehand how many rows there are.
    names = pa.table({"source": pa.array(["a"] * rows), "target": pa.array(["b"] * rows)})
    with pa.ipc.new_file(str(arrow), names.schema, options=pa.ipc.IpcWriteOptions(compression="zstd")) as stream:
        for _ in range(60):
            stream.write_table(names)
    message = "edges.arrow: its edges, of which .* are read so far, would take"
    assert re.search(message, child(f"nigh.Graph({str(arrow)!r})", limit))


@pytest.mark.skipif(sys.platform != "linux", reason="devices are those of Linux")
@pytest.mark.parametrize("argument", ["{}", "ring_file, features={}", "ring_file, labels={}", "ring_file, nodes={}"])
@pytest.mark.parametrize("path", ["/dev/zero", "/dev/urandom", "/", "socket"])
def test_devices_sockets_and_folders_are_no_files(argument: str, path: str, tmp_path: Path) -> None:
    code = f"ring_file = {str(tmp_path / 'ring.csv')!r}\nnp.savetxt(ring_file, ring, fmt='%d', delimiter=',')\n"
    if path == "socket":
        path = str(tmp_path / "socket")
        code += f"import socket\nsocket.socket(socket.AF_UNIX).bind({path!r})\n"
    code += f"nigh.Graph({argument.format(repr(path))})"
    expected = {"/": "is a folder", "/dev/zero": "is a device", "/dev/urandom": "is a device"}.get(path, "is a socket")
    assert expected in child(code, limit=2 << 30)


@pytest.mark.skipif(sys.platform != "linux", reason="RLIMIT_FSIZE is that of Linux")
def test_a_limit_on_the_size_of_files_is_an_error_that_leaves_nothing_behind(tmp_path: Path) -> None:
    code = f"""
model = nigh.train(nigh.Graph(ring), model='smp-linear', epochs=1, repeats=1, progress=False)
resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100))
model.embed_to({str(tmp_path / "x.npy")!r})
"""
    assert "File too large" in child(code)
    assert list(tmp_path.iterdir()) == []


# Messages -----------------------------------------------------------------------------------------------------------------

LONG = "x" * 1_000_000


def settings(value: Any) -> dict[str, Any]:
    return {LONG: value}


LONG_VALUES: dict[str, Callable[[], Any]] = {
    "path": lambda: nigh.Graph(LONG),
    "path of features": lambda: nigh.Graph("cora", features=f"./{LONG}"),
    "id": lambda: nigh.Graph([("a", "b"), (LONG + "\n", "c")]),
    "object": lambda: nigh.Graph([("a", "b"), ([LONG], "c")]),
    "bytes": lambda: nigh.Graph(np.array([[LONG.encode() + b"\xff", b"b"]])),
    "large id": lambda: nigh.Graph([(10**4000, 1)]),
    "number of nodes": lambda: ring(nodes=10**4000),
    "label": lambda: ring(labels=[[LONG.encode()]] * 10),
    "labels by attribute": lambda: ring(labels=LONG),
    "label of an unknown node": lambda: ring(labels={LONG: 1}),
    "features by attribute": lambda: ring(features=LONG),
    "unknown node": lambda: nigh.Graph([(LONG, "a"), ("a", "b")], features={"a": [1.0], "c" + LONG: [2.0]}),
    "weight": lambda: ring(weight=LONG),
    "argument": lambda: ring(**{LONG: 1}),
    "setting": lambda: nigh.train(ring(), model=LONG),
    "unknown setting": lambda: nigh.train(ring(), **settings(1)),
    "memory": lambda: nigh.train(ring(), memory=LONG),
    "epochs": lambda: nigh.train(ring(), epochs=LONG),
    "columns": lambda: nigh.Graph({LONG: [1], "b": [2]}),
}


@pytest.mark.parametrize("case", LONG_VALUES)
def test_no_message_is_as_long_as_what_it_quotes(case: str) -> None:
    with pytest.raises((nigh.NighError, TypeError)) as raised:
        LONG_VALUES[case]()
    assert 0 < len(str(raised.value)) <= 2000


@pytest.mark.parametrize(
    "content",
    [
        f'{{"nodes": [{{"id": "{LONG}"}}], "links": [{{"source": "{LONG}", "target": 5.5}}]}}',
        f'{{"nodes": [], "links": [{{"source": "a", "target": {{"{LONG}": 1}}}}], "{LONG}": 3}}',
        f'{{"nodes": "{LONG}"}}',
        f'{{"{LONG}',
        f"a,b\n{LONG},c,d,e\n",
        f"source,target,weight\na,b,{LONG}\n",
        f"source,target,{LONG}\na,b\n",
        f"%%MatrixMarket matrix coordinate {LONG} general\n",
        f"%%MatrixMarket matrix coordinate real general\n{'9' * 60_000}\n",
        f"%%MatrixMarket matrix coordinate real general\n2 2 1\n1 1 {'9' * 60_000}\n",
        f"<graphml><graph><node id='{LONG}'/><edge source='{LONG}' target='b'/></graph></graphml>",
        f"<graphml><{LONG}></graphml>",
        f"<gexf><graph><edges><edge source='{LONG}'/></edges></graph></gexf>",
    ],
    ids=lambda content: content[:30],
)
def test_no_message_about_a_file_is_as_long_as_the_file(content: str, tmp_path: Path) -> None:
    path = tmp_path / "x.graph"
    path.write_text(content)
    np.savetxt(tmp_path / "ring.csv", RING, fmt="%d", delimiter=",")
    for edges, features in ((path, None), (tmp_path / "ring.csv", path)):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                nigh.Graph(edges, features=features)
            except nigh.NighError as error:
                assert 0 < len(str(error)) <= 2000
