"""Edges, features and labels from whatever a user has, as the columns that the engine takes.

No library is imported here but NumPy: others are recognised by what their objects offer.
"""

from __future__ import annotations

import operator
import os
from collections.abc import Iterable, Mapping
from typing import Any, Union

import numpy as np

from ._errors import InputError

Ids = Union["np.ndarray[Any, Any]", "list[str]"]

SOURCE_WORDS = ("source", "src", "from", "u", "head", "node1", "from_node", "source_id")
TARGET_WORDS = ("target", "dst", "to", "v", "tail", "node2", "to_node", "target_id")
WEIGHT_WORDS = ("weight", "w", "weights")
ID_WORDS = ("id", "ids", "node", "nodes", "node_id", "node_ids", "nodeid")
LABEL_WORDS = ("label", "labels", "class", "category", "y", "group", "target")


def shown(value: Any) -> str:
    """A value for a message, not longer than a line."""
    if isinstance(value, (str, bytes)):
        # Of a long one no copy is made.
        value = value[:100]
    try:
        return shown_text(repr(value))
    except ValueError:
        # Python writes no integer of thousands of digits.
        return f"a value of the type {type(value).__name__}"


def shown_text(value: Any) -> str:
    text = str(value)
    return text if len(text) <= 80 else text[:77] + "..."


def count(value: Any, name: str) -> int:
    """A whole number among the arguments of a call, such as ``threads``."""
    if not isinstance(value, (int, np.integer)) or isinstance(value, bool):
        raise TypeError(f"`{name}` is {shown(value)}; expected a whole number")
    if not 0 <= value < 2**63:
        raise InputError(f"`{name}` is {shown(value)}, but expected a whole number from 0 to 2^63")
    return int(value)


def threads(value: Any) -> int | None:
    return None if value is None else count(value, "threads")


def memory(value: Any) -> str | None:
    """A limit such as ``"8GiB"``, or bytes."""
    return value if value is None or isinstance(value, str) else str(count(value, "memory"))


# Ids ------------------------------------------------------------------------------------------------------------------


def ids(values: Any, what: str) -> Ids:
    """Ids as an ``int64`` array, or as a list of ``str`` if any of them is one."""
    if isinstance(values, list) and any(isinstance(value, tuple) for value in values):
        return mixed(values, what)
    array = plain(values, what)
    if array.ndim != 1:
        raise InputError(f"{what} have the shape {array.shape}; expected one id per row")
    if array.dtype.kind == "b":
        raise InputError(f"{what} are true and false; expected ids, not a mask")
    if array.dtype.kind in "iu":
        return integers(array, what)
    if array.dtype.kind == "f":
        return whole(array, what)
    if array.dtype.kind == "S":
        array = decoded(array, what)
    if array.dtype.kind == "U":
        return mixed(array.tolist(), what)
    if array.dtype.kind != "O":
        raise InputError(f"{what} are of the type {array.dtype}; expected integers or texts")
    return mixed(array.tolist(), what)


def integers(array: np.ndarray[Any, Any], what: str) -> np.ndarray[Any, Any]:
    most = int(np.iinfo(np.int64).max)
    if array.dtype.kind == "u" and array.size and int(array.max()) > most:
        raise InputError(f"{what} hold {array.max()}, and the largest id is {most}; use texts")
    array = array.astype(np.int64, copy=False)
    step = array.strides[0] if array.size > 1 else array.itemsize
    # Any positive step is read as it is: a column of a matrix needs no copy.
    return array if step > 0 and step % array.itemsize == 0 and array.flags.aligned else np.ascontiguousarray(array)


def decoded(array: np.ndarray[Any, Any], what: str) -> np.ndarray[Any, Any]:
    try:
        return np.char.decode(array, "utf-8")
    except UnicodeDecodeError as error:
        raise InputError(f"{what} hold {shown(error.object)}, which is not UTF-8") from None


def whole(array: np.ndarray[Any, Any], what: str) -> np.ndarray[Any, Any]:
    bad = np.flatnonzero(~(np.isfinite(array) & (array == np.floor(array)) & (np.abs(array) < 2**53)))
    if bad.size:
        raise InputError(f"{what}, row {bad[0]}: {array[bad[0]]} is no id; expected integers or texts")
    return array.astype(np.int64)


def mixed(values: list[Any], what: str) -> Ids:
    """Python's own objects: all integers, or texts, in which integers are written as such."""
    names: list[str] = []
    all_integers = True
    for row, value in enumerate(values):
        if isinstance(value, (bool, np.bool_)):
            raise InputError(f"{what}, row {row}: {value!r} is no id; expected integers or texts")
        if isinstance(value, (float, np.floating)) and float(value).is_integer() and abs(float(value)) < 2**53:
            value = int(value)
        if isinstance(value, (int, np.integer)):
            names.append(str(int(value)))
        elif isinstance(value, (str, np.str_)):
            if not value:
                raise InputError(f"{what}, row {row}: the id is empty")
            all_integers = False
            names.append(str(value))
        else:
            remedy = "; networkx.convert_node_labels_to_integers numbers such nodes" if isinstance(value, tuple) else ""
            raise InputError(f"{what}, row {row}: {shown(value)} is no id; expected integers or texts{remedy}")
    if all_integers:
        try:
            return np.array([int(name) for name in names], dtype=np.int64)
        except OverflowError:
            most = np.iinfo(np.int64)
            bad = next(name for name in names if not most.min <= int(name) <= most.max)
            raise InputError(f"{what} hold {bad}, and ids are from {most.min} to {most.max}; use texts") from None
    return names


def as_texts(values: Ids) -> list[str]:
    return values if isinstance(values, list) else [str(value) for value in values.tolist()]


def alike(source: Ids, target: Ids) -> tuple[Ids, Ids]:
    """Both columns of the same kind."""
    if isinstance(source, list) != isinstance(target, list):
        return as_texts(source), as_texts(target)
    return source, target


# Arrays ---------------------------------------------------------------------------------------------------------------


def plain(values: Any, what: str) -> np.ndarray[Any, Any]:
    """A NumPy array of anything that is one, or can be: lists, tensors, columns of frames."""
    if isinstance(values, np.ma.MaskedArray) and np.ma.is_masked(values):
        raise InputError(f"{what} are masked in places; leave these out, or fill them")
    if isinstance(values, np.ndarray):
        return values
    if is_tensor(values):
        values = values.detach().cpu()
        return np.asarray(values)
    if hasattr(values, "to_numpy"):
        return np.asarray(values.to_numpy())
    if isinstance(values, (str, bytes)) or not isinstance(values, Iterable):
        raise InputError(f"{what} are {shown(values)}; expected a list or an array")
    values = list(values)
    if any(isinstance(value, str) for value in values):
        return of_objects(values)
    try:
        return np.asarray(values)
    except (ValueError, OverflowError):
        return of_objects(values)


def of_objects(values: list[Any]) -> np.ndarray[Any, Any]:
    array = np.empty(len(values), dtype=object)
    array[:] = values
    return array


def is_tensor(value: Any) -> bool:
    return hasattr(value, "detach") and hasattr(value, "cpu")


def is_sparse(value: Any) -> bool:
    return hasattr(value, "tocoo") and hasattr(value, "shape")


def is_frame(value: Any) -> bool:
    # `columns` of pyarrow are not names: its tables are read as streams.
    has_names = hasattr(value, "columns") and not hasattr(value, "column_names")
    return has_names and hasattr(value, "__getitem__") and not is_sparse(value)


def is_path(value: Any) -> bool:
    return isinstance(value, (str, os.PathLike))


def numbers(values: Any, what: str) -> np.ndarray[Any, Any]:
    """``float32``; integers and booleans are taken as numbers."""
    array = plain(values, what)
    if array.dtype.kind in "OUS":
        try:
            array = array.astype(np.float64)
        except (TypeError, ValueError, OverflowError):
            raise InputError(f"{what} are of the type {array.dtype}; expected numbers") from None
    if array.dtype.kind not in "biuf":
        raise InputError(f"{what} are of the type {array.dtype}; expected numbers")
    if array.dtype != np.float32 or not array.flags.c_contiguous:
        from ._nigh import check_memory

        check_memory(4 * array.size, f"{what} of {' × '.join(map(str, array.shape))}")
    with np.errstate(over="ignore"):
        # What does not fit is infinite, and refused as such.
        return np.ascontiguousarray(array, dtype=np.float32)


# Frames ---------------------------------------------------------------------------------------------------------------


class Columns:
    """A table of any library, by the names of its columns."""

    def __init__(self, frame: Any, what: str) -> None:
        self.what = what
        if is_frame(frame):
            self.names = [str(name) for name in frame.columns]
            self.columns = {str(name): frame[name] for name in frame.columns}
        else:
            from ._nigh import read_arrow

            self.columns = dict(read_arrow(frame))
            self.names = list(self.columns)
        if len(self.names) != len(set(self.names)):
            raise InputError(f"{what} have two columns of one name: {', '.join(self.names)}")

    def __getitem__(self, name: str) -> Any:
        if name not in self.columns:
            raise InputError(f"{self.what} have no column `{name}`; there are {', '.join(self.names)}")
        return self.columns[name]

    def worded(self, words: Iterable[str]) -> str | None:
        """The first column with one of the usual names."""
        by_word = {name.lower(): name for name in reversed(self.names)}
        return next((by_word[word] for word in words if word in by_word), None)


def is_table(value: Any) -> bool:
    # Columns of pandas, polars and pyarrow are streams, too; they have `to_numpy`.
    return is_frame(value) or (hasattr(value, "__arrow_c_stream__") and not hasattr(value, "to_numpy"))


# Sparse matrices ------------------------------------------------------------------------------------------------------
#
# SciPy does not check the arrays of a matrix before its routines in C read them, so that is done here first.

Vector = np.ndarray[Any, Any]


def first(wrong: Vector) -> int | None:
    """The first place that is true."""
    return int(wrong.argmax()) if wrong.size and wrong.any() else None


def sides(matrix: Any, what: str) -> tuple[int, int]:
    """Rows and columns."""
    try:
        rows, cols = (operator.index(side) for side in matrix.shape)
    except (TypeError, ValueError):
        raise InputError(f"{what} have the shape {shown(matrix.shape)}; expected a matrix of rows and columns") from None
    if not (0 <= rows < 2**63 and 0 <= cols < 2**63):
        raise InputError(f"{what} have the shape {shown((rows, cols))}; sides are from 0 to 2^63")
    return rows, cols


def entries(matrix: Any, what: str) -> tuple[Vector, Vector, Vector]:
    """Row, column and value of each entry of a sparse matrix, in its order."""
    rows, cols = sides(matrix, what)
    kind = getattr(matrix, "format", None)
    if kind in ("csr", "csc"):
        lines, others = (rows, cols) if kind == "csr" else (cols, rows)
        names = ("row", "column") if kind == "csr" else ("column", "row")
        starts = whole_numbers(matrix.indptr, f"{what}: indptr")
        index = whole_numbers(matrix.indices, f"{what}: indices")
        values = entry_values(matrix, index, what)
        if len(starts) != lines + 1:
            raise InputError(f"{what}: indptr has {len(starts)} numbers; expected {lines + 1} for {lines} {names[0]}s")
        if starts[0] != 0:
            raise InputError(f"{what}, {names[0]} 0: indptr starts with {starts[0]}; expected 0")
        at = first(starts[1:] < starts[:-1])
        if at is not None:
            raise InputError(f"{what}, {names[0]} {at}: indptr falls from {starts[at]} to {starts[at + 1]}")
        if starts[-1] > len(index):
            at = first(starts[1:] > len(index)) or 0
            raise InputError(f"{what}, {names[0]} {at}: indptr is {starts[at + 1]}, but there are {len(index)} entries")
        if starts[-1] < len(index):
            raise InputError(f"{what}, {names[0]} {lines - 1}: indptr ends with {starts[-1]} before {len(index)} entries")
        line = np.repeat(np.arange(lines, dtype=np.int64), np.diff(starts))
        inside(index, others, line, names, what)
        return (line, index, values) if kind == "csr" else (index, line, values)
    other = matrix if kind == "coo" else converted(matrix, what)
    row, col = whole_numbers(other.row, f"{what}: row"), whole_numbers(other.col, f"{what}: col")
    values = entry_values(other, row, what)
    if len(row) != len(col):
        raise InputError(f"{what} have {len(row)} row numbers for {len(col)} column numbers")
    inside(row, rows, np.arange(len(row)), ("entry", "row"), what)
    inside(col, cols, row, ("row", "column"), what)
    return row, col, values


def converted(matrix: Any, what: str) -> Any:
    try:
        return matrix.tocoo()
    except (ValueError, IndexError, TypeError, OverflowError) as error:
        raise InputError(f"{what} are no sparse matrix: {shown_text(error)}") from None


def whole_numbers(values: Any, what: str) -> Vector:
    array = np.asarray(values)
    if array.ndim != 1 or array.dtype.kind not in "iu":
        raise InputError(f"{what} has the shape {array.shape} and the type {array.dtype}; expected a list of whole numbers")
    return integers(array, what)


def entry_values(matrix: Any, index: Vector, what: str) -> Vector:
    values = np.asarray(matrix.data)
    if values.ndim != 1 or len(values) != len(index):
        raise InputError(f"{what} have values of the shape {values.shape} for {len(index)} entries")
    if values.dtype.kind not in "biuf":
        raise InputError(f"{what} are of the type {values.dtype}; expected numbers")
    return values


def inside(index: Vector, limit: int, line: Vector, names: tuple[str, str], what: str) -> None:
    bad = first((index < 0) | (index >= limit))
    if bad is not None:
        problem = f"{names[1]} {index[bad]} is out of range; there are {limit} {names[1]}s"
        raise InputError(f"{what}, {names[0]} {line[bad]}: {problem}")


def compressed(matrix: Any, what: str) -> tuple[Vector, Vector, Vector, int]:
    """Starts of rows, columns, values and number of columns, with columns that ascend in every row. Entries of one place add up."""
    from ._nigh import check_memory

    (rows, cols), (row, col, values) = sides(matrix, what), entries(matrix, what)
    check_memory(16 * rows + 32 * len(row), f"{what} of {rows} × {cols} with {len(row)} entries")
    ascends = (row[1:] > row[:-1]) | ((row[1:] == row[:-1]) & (col[1:] > col[:-1]))
    if not ascends.all():
        order = np.lexsort((col, row))
        row, col, values = row[order], col[order], values[order]
        is_first = np.ones(len(row), dtype=bool)
        is_first[1:] = (row[1:] != row[:-1]) | (col[1:] != col[:-1])
        if not is_first.all():
            places = np.flatnonzero(is_first)
            row, col, values = row[places], col[places], np.add.reduceat(values, places)
    with np.errstate(over="ignore"):
        # What does not fit is infinite, and refused as such.
        values = np.ascontiguousarray(values, dtype=np.float32)
    bad = first(~np.isfinite(values))
    if bad is not None:
        raise InputError(f"{what}, row {row[bad]}, column {col[bad]}: {values[bad]} is not a finite number")
    starts = np.zeros(rows + 1, dtype=np.int64)
    np.cumsum(np.bincount(row, minlength=rows), out=starts[1:])
    return starts, np.ascontiguousarray(col), values, cols


# Edges ----------------------------------------------------------------------------------------------------------------


def edges(value: Any, weight: Any, source: str | None, target: str | None) -> dict[str, Any]:
    """The columns of any object that holds edges."""
    if is_path(value):
        raise InputError(f"{value!r} is a name or a path; Graph reads it")
    if is_sparse(value):
        return adjacency(value, weight)
    if hasattr(value, "edge_index"):
        return pyg(value, weight)
    if hasattr(value, "adjacency") and hasattr(value, "nodes") and callable(getattr(value, "edges", None)):
        return networkx(value, weight)
    if hasattr(value, "ndata") and callable(getattr(value, "edges", None)):
        return dgl(value, weight)
    if is_table(value):
        return table(Columns(value, "edges"), weight, source, target)
    if source is not None or target is not None:
        raise InputError("`source` and `target` name columns, and these edges have none")
    return pairs(value, weight)


def pairs(value: Any, weight: Any) -> dict[str, Any]:
    """An array of 2 × M or M × 2, or a list of pairs."""
    array = ends(value, "edges")
    return {"source": array[0], "target": array[1], **weights(weight, {})}


def ends(value: Any, what: str) -> tuple[Ids, Ids]:
    """The two ends of each pair of 2 × M, M × 2 or a list of pairs."""
    if not isinstance(value, np.ndarray) and not is_tensor(value) and not hasattr(value, "to_numpy"):
        if isinstance(value, (str, bytes)) or not isinstance(value, Iterable):
            raise InputError(f"{what} are {shown(value)}; expected an array, a frame, a graph or a list of pairs")
        rows = list(value)
        if len(rows) == 2 and all(hasattr(row, "__len__") and not isinstance(row, str) and len(row) != 2 for row in rows):
            # Two columns, as DGL and `numpy.nonzero` hand them out.
            if len(rows[0]) != len(rows[1]):
                raise InputError(f"{what} have {len(rows[0])} sources, but {len(rows[1])} targets")
            return alike(ids(rows[0], what), ids(rows[1], what))
        for row, pair in enumerate(rows):
            if isinstance(pair, (str, bytes)) or not hasattr(pair, "__len__") or len(pair) != 2:
                raise InputError(f"{what}, row {row}: {shown(pair)} is no pair of ids")
        return alike(ids([pair[0] for pair in rows], what), ids([pair[1] for pair in rows], what))
    array = plain(value, what)
    if array.ndim != 2 or 2 not in array.shape:
        raise InputError(f"{what} have the shape {array.shape}; expected (2, M) or (M, 2)")
    # 2 × 2 is read as PyG's edge_index.
    columns = (array[0], array[1]) if array.shape[0] == 2 else (array[:, 0], array[:, 1])
    return alike(ids(columns[0], what), ids(columns[1], what))


def weights(weight: Any, known: Mapping[str, Any]) -> dict[str, Any]:
    """An array of weights, one that the edges bring under this name, or none."""
    if weight is None or weight is False:
        return {}
    if isinstance(weight, str):
        if weight not in known:
            there = f"; there are {', '.join(known)}" if known else ""
            raise InputError(f"edges have no weight `{weight}`{there}")
        weight = known[weight]
    array = numbers(weight, "weights")
    if array.ndim == 2 and array.shape[1] == 1:
        array = array[:, 0]
    if array.ndim != 1:
        raise InputError(f"weights have the shape {array.shape}; expected one per edge")
    return {"weights": np.ascontiguousarray(array)}


def adjacency(matrix: Any, weight: Any) -> dict[str, Any]:
    """A sparse matrix; entries other than one are weights, unless there are to be none."""
    rows, cols = sides(matrix, "edges")
    if rows != cols:
        raise InputError(f"edges are a matrix of {rows} × {cols}; the adjacency matrix of a graph is square")
    if isinstance(weight, str):
        raise InputError("the entries of a matrix are the weights; `weight=False` leaves them out")
    row, col, data = entries(matrix, "edges")
    there = data != 0
    if not there.all():
        row, col, data = row[there], col[there], data[there]
    columns = {"source": ids(row, "edges"), "target": ids(col, "edges"), "num_nodes": rows}
    if weight is None and data.size and (data != 1).any():
        bad = first(~(np.isfinite(data) & (data > 0)))
        if bad is not None:
            raise InputError(f"edges, row {row[bad]}, column {col[bad]}: weight {data[bad]} is not a positive number")
        weight = data
    return {**columns, **weights(weight, {})}


def pyg(data: Any, weight: Any) -> dict[str, Any]:
    """A `Data` of PyTorch Geometric: edges, and the features, labels and weights that it holds."""
    columns = pairs(data.edge_index, None)
    count = getattr(data, "num_nodes", None)
    if count is not None:
        columns["num_nodes"] = int(count)
    known = {name: value for name in ("edge_weight", "edge_attr") if (value := getattr(data, name, None)) is not None}
    if weight is None and "edge_weight" in known:
        weight = "edge_weight"
    columns.update(weights(weight, known))
    if getattr(data, "x", None) is not None:
        columns["own_features"] = data.x
    if getattr(data, "y", None) is not None and len(data.y) == count:
        columns["own_labels"] = data.y
    return columns


def dgl(graph: Any, weight: Any) -> dict[str, Any]:
    """A graph of DGL, with the features `feat` and the labels `label` of its nodes."""
    columns = pairs(tuple(graph.edges()), None)
    columns["num_nodes"] = int(graph.num_nodes())
    columns.update(weights(weight, dict(graph.edata)))
    for own, name in (("own_features", "feat"), ("own_labels", "label")):
        if name in graph.ndata:
            columns[own] = graph.ndata[name]
    return columns


def networkx(graph: Any, weight: Any) -> dict[str, Any]:
    """A graph of networkx; the attribute `weight` of its edges is used if all have it."""
    listed = list(graph.edges(data=True))
    source = [edge[0] for edge in listed]
    target = [edge[1] for edge in listed]
    columns: dict[str, Any] = dict(zip(("source", "target"), alike(ids(source, "edges"), ids(target, "edges"))))
    columns["nodes"] = ids(list(graph.nodes), "nodes")
    columns["directed"] = bool(graph.is_directed())
    columns["attributes"] = dict(graph.nodes(data=True))
    name = weight if isinstance(weight, str) else "weight"
    if weight is None and listed and all(name in edge[2] for edge in listed):
        weight = name
    if isinstance(weight, str):
        missing = next((edge for edge in listed if weight not in edge[2]), None)
        if missing is not None:
            raise InputError(f"edge ({missing[0]!r}, {missing[1]!r}) has no attribute `{weight}`")
        weight = [edge[2][weight] for edge in listed]
    columns.update(weights(weight, {}))
    if isinstance(columns["source"], list) != isinstance(columns["nodes"], list):
        for name in ("source", "target", "nodes"):
            columns[name] = as_texts(columns[name])
    return columns


def table(frame: Columns, weight: Any, source: str | None, target: str | None) -> dict[str, Any]:
    """A frame: columns by their usual names, or the first two."""
    first = [name for name in frame.names if name not in (source, target, weight)][:2]
    if len(frame.names) < 2:
        raise InputError(f"edges have one column, {', '.join(frame.names)}; an edge needs two ids")
    usual = (frame.worded(SOURCE_WORDS), frame.worded(TARGET_WORDS))
    if source is None or target is None:
        found = usual if None not in usual else (first[0], first[-1])
        source, target = source or found[0], target or found[1]
    if source == target:
        raise InputError(f"source and target are the same column, `{source}`")
    ends_of = alike(ids(frame[str(source)], f"ids of column `{source}`"), ids(frame[str(target)], f"ids of column `{target}`"))
    if weight is None:
        weight = frame.worded(WEIGHT_WORDS)
    if isinstance(weight, str):
        weight = frame[weight]
    return {"source": ends_of[0], "target": ends_of[1], **weights(weight, {})}


# What is known of nodes -----------------------------------------------------------------------------------------------


def node_list(value: Any) -> dict[str, Any]:
    """All nodes: how many, or their ids."""
    if isinstance(value, (int, np.integer)) and not isinstance(value, bool):
        if value < 1:
            raise InputError(f"`nodes` is {value}; expected their number or their ids")
        return {"num_nodes": count(value, "nodes")}
    if is_table(value):
        frame = Columns(value, "nodes")
        value = frame[frame.worded(ID_WORDS) or frame.names[0]]
    return {"nodes": ids(value, "nodes")}


def features(value: Any, attributes: Mapping[Any, Mapping[str, Any]] | None) -> dict[str, Any]:
    """Features of nodes: a matrix, a frame with ids, a dictionary, or names of attributes of networkx."""
    names = [value] if isinstance(value, str) else value
    if attributes is not None and isinstance(names, list) and all(isinstance(name, str) for name in names):
        rows = [attribute_row(node, given, names) for node, given in attributes.items()]
        return {"features": matrix(rows), "feature_ids": ids(list(attributes), "nodes"), "feature_names": names}
    if isinstance(value, Mapping):
        return {"features": matrix(list(value.values())), "feature_ids": ids(list(value), "features")}
    if is_sparse(value):
        return {"features": compressed(value, "features")}
    if is_table(value):
        return feature_frame(value)
    return {"features": matrix(value)}


def attribute_row(node: Any, given: Mapping[str, Any], names: list[str]) -> list[Any]:
    missing = next((name for name in names if name not in given), None)
    if missing is not None:
        raise InputError(f"node {node!r} has no attribute `{missing}`")
    return [given[name] for name in names]


def feature_frame(value: Any) -> dict[str, Any]:
    frame = Columns(value, "features")
    id_column = frame.worded(ID_WORDS)
    names = [name for name in frame.names if name != id_column]
    if not names:
        raise InputError("features have no column of numbers")
    columns = [numbers(frame[name], f"column `{name}` of the features") for name in names]
    found: dict[str, Any] = {"features": np.ascontiguousarray(np.column_stack(columns)), "feature_names": names}
    if id_column is not None:
        found["feature_ids"] = ids(frame[id_column], "ids of the features")
    elif has_named_index(value):
        found["feature_ids"] = ids(value.index, "ids of the features")
    return found


def has_named_index(value: Any) -> bool:
    """Whether the index of pandas says which node a row is of, and does not just count."""
    index = getattr(value, "index", None)
    return index is not None and not callable(index) and type(index).__name__ != "RangeIndex"


def matrix(value: Any) -> np.ndarray[Any, Any]:
    try:
        array = numbers(value, "features")
    except ValueError as error:
        if isinstance(error, InputError):
            raise
        raise InputError(f"features are no matrix: {error}") from None
    if array.ndim == 1:
        array = array[:, np.newaxis]
    if array.ndim != 2 or array.shape[1] == 0:
        raise InputError(f"features have the shape {array.shape}; expected a row per node")
    return np.ascontiguousarray(array)


def labels(value: Any, attributes: Mapping[Any, Mapping[str, Any]] | None) -> dict[str, Any]:
    """Labels of nodes: one each, or several in lists or in columns of 0 and 1."""
    if isinstance(value, str):
        if attributes is None:
            raise InputError(f"labels are {value!r}; only nodes of networkx have attributes of that kind")
        known = {node: given[value] for node, given in attributes.items() if value in given}
        if not known:
            raise InputError(f"no node has an attribute `{value}`")
        return labels(known, None)
    if isinstance(value, Mapping):
        return {**named(list(value.values())), "label_ids": ids(list(value), "labels")}
    if is_sparse(value):
        return sparse_indicators(value)
    if is_table(value):
        return label_frame(value)
    found = named(value)
    if has_named_index(value):
        found["label_ids"] = ids(value.index, "ids of the labels")
    return found


def label_frame(value: Any) -> dict[str, Any]:
    frame = Columns(value, "labels")
    id_column = frame.worded(ID_WORDS)
    rest = [name for name in frame.names if name != id_column]
    column = next((name for name in rest if name.lower() in LABEL_WORDS), None)
    if column is None:
        if len(rest) != 1:
            raise InputError(f"which column holds the labels? There are {', '.join(rest)}; call it `label`")
        column = rest[0]
    found = named(frame[column])
    if id_column is not None:
        found["label_ids"] = ids(frame[id_column], "ids of the labels")
    elif has_named_index(value):
        found["label_ids"] = ids(value.index, "ids of the labels")
    return found


def named(value: Any) -> dict[str, Any]:
    array = plain(value, "labels")
    if array.ndim == 2 and array.shape[1] == 1:
        array = array[:, 0]
    if array.ndim == 2:
        return indicators(array)
    if array.ndim != 1:
        raise InputError(f"labels have the shape {array.shape}; expected one per node, or a column per class")
    rows = array.tolist()
    if any(isinstance(row, (list, tuple, set, frozenset, np.ndarray)) for row in rows):
        starts, names = [0], list[str]()
        for row in rows:
            several = list(row) if isinstance(row, (list, tuple, set, frozenset, np.ndarray)) else [row]
            names.extend(name for one in several if (name := label(one)))
            starts.append(len(names))
        return {"labels": names, "label_starts": starts}
    return {"labels": [label(row) for row in rows]}


def is_missing(value: Any) -> bool:
    return value is None or (isinstance(value, float) and value != value) or type(value).__name__ == "NAType"


def label(value: Any) -> str:
    """The name of a class; missing values and negative numbers are none."""
    if is_missing(value):
        return ""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if isinstance(value, int) and value < 0:
        return ""
    if not isinstance(value, (str, int, float)):
        raise InputError(f"{shown(value)} is no label; expected texts or numbers")
    return str(value)


def indicators(array: np.ndarray[Any, Any]) -> dict[str, Any]:
    if array.dtype.kind == "b":
        array = array.astype(np.int64)
    bad = np.argwhere((array != 0) & (array != 1))
    if array.dtype.kind not in "iuf" or bad.size:
        place = f"row {bad[0][0]}, column {bad[0][1]} is {array[tuple(bad[0])]}" if bad.size else f"type {array.dtype}"
        raise InputError(f"labels: {place}; expected 0 or 1, with a column per class")
    rows, classes = np.nonzero(array)
    starts = np.concatenate([[0], np.cumsum(np.bincount(rows, minlength=len(array)))])
    return {"labels": [str(number) for number in classes.tolist()], "label_starts": starts.tolist()}


def sparse_indicators(matrix: Any) -> dict[str, Any]:
    """As `indicators`, of a sparse matrix, whose zeros are never written out."""
    starts, classes, values, _ = compressed(matrix, "labels")
    if (values == 0).any():
        row = np.repeat(np.arange(len(starts) - 1), np.diff(starts))[values != 0]
        classes, values = classes[values != 0], values[values != 0]
        starts = np.concatenate([[0], np.cumsum(np.bincount(row, minlength=len(starts) - 1))])
    bad = first(values != 1)
    if bad is not None:
        row = int(np.searchsorted(starts, bad, side="right")) - 1
        raise InputError(f"labels: row {row}, column {classes[bad]} is {values[bad]}; expected 0 or 1, with a column per class")
    return {"labels": [str(number) for number in classes.tolist()], "label_starts": starts.tolist()}
