"""What can't be used is refused with a clear message: never a panic, and never something else than was meant."""

from __future__ import annotations

import datetime
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as scipy_sparse
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

import nigh
import nigh._nigh

Array = np.ndarray[Any, Any]

RING = np.stack([np.arange(10), (np.arange(10) + 1) % 10], axis=1)


def ring(**given: Any) -> nigh.Graph:
    return nigh.Graph(RING, **given)


def changed(array: Array, place: Any, value: Any) -> Array:
    array = array.astype(float)
    array[place] = value
    return array


# One by one: what is wrong, and what the message has to say -----------------------------------------------------------

EDGES: dict[str, tuple[Callable[[], Any], str]] = {
    "fractions": (lambda: RING + 0.5, "row 0: 0.5 is no id"),
    "not a number": (lambda: changed(RING, (3, 0), np.nan), "row 3: nan is no id"),
    "infinite": (lambda: changed(RING, (3, 1), np.inf), "row 3: inf is no id"),
    "floats beyond exact integers": (lambda: changed(RING, (0, 0), 2.0**60), "row 0: 1.15.*e.18 is no id"),
    "None": (lambda: None, "edges are None"),
    "None among pairs": (lambda: [(1, 2), (2, None)], "row 1: None is no id"),
    "None among objects": (lambda: np.array([[1, 2], [2, None]], dtype=object), "None is no id"),
    "nothing": (list, "no edges"),
    "no rows": (lambda: np.empty((0, 2), dtype=int), "no edges"),
    "no columns": (lambda: np.empty((2, 0), dtype=int), "no edges"),
    "self loops alone": (lambda: [(1, 1), (2, 2)], "no edge between two different nodes"),
    "too large": (lambda: [(2**63, 1)], "hold 9223372036854775808.*use texts"),
    "far too large": (lambda: [(2**80, 1)], "hold 1208925819614629174706176.*use texts"),
    "too small": (lambda: [(-(2**63) - 1, 1)], "use texts"),
    "too large for int64": (lambda: np.array([[2**63, 1]], dtype=np.uint64), "hold 9223372036854775808.*use texts"),
    "a mask": (lambda: np.eye(2, dtype=bool), "true and false"),
    "a bool among pairs": (lambda: [("a", "b"), ("b", True)], "row 1: True is no id"),
    "a number": (lambda: 5, "edges are 5"),
    "a 0-d array": (lambda: np.array(3), r"shape \(\)"),
    "a 1-d array": (lambda: np.arange(6), r"shape \(6,\)"),
    "a 3-d array": (lambda: np.zeros((2, 3, 4), dtype=int), r"shape \(2, 3, 4\)"),
    "three columns": (lambda: np.zeros((5, 3), dtype=int), r"shape \(5, 3\)"),
    "complex numbers": (lambda: RING * 1j, "complex128"),
    "masked places": (lambda: np.ma.masked_equal(RING, 3), "masked"),
    "fields": (lambda: np.zeros(3, dtype=[("a", int), ("b", int)]), "shape"),
    "bytes": (lambda: b"abc", "edges are b'abc'"),
    "bytes that are no text": (lambda: np.array([[b"\xff", b"b"], [b"c", b"b"], [b"c", b"b"]]), r"b'\\xff'.*UTF-8"),
    "half a character": (lambda: [("\ud800", "a")], r"'\\ud800' can't be written as UTF-8"),
    "an empty text": (lambda: [("", "a")], "row 0: the id is empty"),
    "an empty text of NumPy": (lambda: np.array([["a", "b"], ["a", "c"], ["", "a"]]), "row 2: the id is empty"),
    "a line break": (lambda: [("a\nb", "c")], "line break"),
    "dates": (lambda: [(datetime.date(2020, 1, 1), datetime.date(2020, 1, 2))], "is no id"),
    "dates of NumPy": (lambda: np.array([["2020-01-01"] * 2] * 3, dtype="M8[D]"), "datetime64"),
    "tuples": (lambda: [((0, 1), (1, 1)), ((0, 1), (2, 2))], r"\(0, 1\) is no id.*convert_node_labels_to_integers"),
    "ragged": (lambda: [(0, 1), (2,)], r"row 1: \(2,\) is no pair"),
    "texts that are no pairs": (lambda: ["ab", "cd"], "row 0: 'ab' is no pair"),
    "a dictionary": (lambda: {1: [2, 3]}, "no pair of ids"),
    "columns of two lengths": (lambda: ([1, 2, 3], [1, 2, 3, 4]), "3 sources, but 4 targets"),
    "an unknown name": (lambda: "corra", "did you mean `cora`"),
    "a graph": (ring, "a graph already"),
}


@pytest.mark.parametrize("case", EDGES)
def test_edges_that_are_none_are_refused(case: str) -> None:
    edges, message = EDGES[case]
    with pytest.raises((ValueError, TypeError), match=message):
        nigh.Graph(edges())


ARGUMENTS: dict[str, tuple[dict[str, Any], str]] = {
    "weight not a number": ({"weight": changed(np.ones(10), 3, np.nan)}, "row 3: weight NaN"),
    "weight infinite": ({"weight": changed(np.ones(10), 3, np.inf)}, "row 3: weight inf"),
    "weight negative": ({"weight": changed(np.ones(10), 3, -1)}, "row 3: weight -1"),
    "weight zero": ({"weight": changed(np.ones(10), 3, 0)}, "row 3: weight 0"),
    "weight beyond float32": ({"weight": changed(np.ones(10), 3, 1e300)}, "row 3: weight inf"),
    "weights too few": ({"weight": [1.0, 2.0]}, "10 edges, but 2 weights"),
    "weights in two columns": ({"weight": np.ones((10, 2))}, r"shape \(10, 2\)"),
    "weight of no column": ({"weight": "cost"}, "no weight `cost`"),
    "weight True": ({"weight": True}, "weights are True"),
    "weight a number": ({"weight": 3.0}, "weights are 3.0"),
    "weights are texts": ({"weight": ["a"] * 10}, "expected numbers"),
    "weights are complex": ({"weight": np.ones(10) * 1j}, "complex128.*expected numbers"),
    "features not a number": ({"features": changed(np.ones((10, 2)), (3, 1), np.nan)}, "row 3, column 1: NaN"),
    "features infinite": ({"features": changed(np.ones((10, 2)), (3, 1), np.inf)}, "row 3, column 1: inf"),
    "features beyond float32": ({"features": changed(np.ones((10, 2)), (3, 1), 1e300)}, "row 3, column 1: inf"),
    "features too few": ({"features": np.ones((3, 2))}, "3 rows, but the graph has 10 nodes"),
    "features 3-d": ({"features": np.ones((10, 2, 2))}, r"shape \(10, 2, 2\)"),
    "features without columns": ({"features": np.ones((10, 0))}, r"shape \(10, 0\)"),
    "features are texts": ({"features": [["a"]] * 10}, "expected numbers"),
    "features are None": ({"features": [[None]] * 10}, "NaN is not a finite number"),
    "features are ragged": ({"features": [[1], [1, 2]] * 5}, "expected numbers"),
    "features are complex": ({"features": np.ones((10, 2)) * 1j}, "complex128"),
    "features are dates": ({"features": np.zeros((10, 2), dtype="M8[D]")}, "datetime64"),
    "features a number": ({"features": 3}, "features are 3"),
    "features a text": ({"features": "age"}, "features are 'age'"),
    "features of some nodes": ({"features": {0: [1, 2]}}, "9 nodes of the graph have no row"),
    "features of two lengths": ({"features": {node: [1] * (1 + node % 2) for node in range(10)}}, "expected numbers"),
    "labels too few": ({"labels": [1, 2]}, "2 rows, but the graph has 10 nodes"),
    "labels 3-d": ({"labels": np.ones((10, 2, 2), dtype=int)}, r"shape \(10, 2, 2\)"),
    "labels are dates": ({"labels": [datetime.date(2020, 1, 1)] * 10}, "is no label"),
    "labels are bytes": ({"labels": [b"a"] * 10}, "b'a' is no label"),
    "labels a number": ({"labels": 3}, "labels are 3"),
    "labels a text": ({"labels": "team"}, "labels are 'team'"),
    "labels missing all": ({"labels": [None] * 10}, "no node has a label"),
    "labels of none": ({"labels": {}}, "no node has a label"),
    "labels of an unknown node": ({"labels": {99: "a"}}, "node `99` is not in the graph"),
    "labels neither 0 nor 1": ({"labels": np.full((10, 2), 2)}, "row 0, column 0 is 2"),
    "labels half characters": ({"labels": ["\ud800"] * 10}, "can't be written as UTF-8"),
    "labels nested twice": ({"labels": [[["a"], "b"]] * 9 + [["b"]]}, "is no label"),
    "nodes twice": ({"nodes": [0, 0, *range(1, 10)]}, "node `0` has a row already"),
    "nodes too few": ({"nodes": 3}, "not between nodes 0 to 2"),
    "nodes not all": ({"nodes": [0, 1]}, "is not in the list"),
    "nodes none": ({"nodes": []}, "is not in the list"),
    "nodes negative": ({"nodes": -1}, "`nodes` is -1"),
    "nodes too many": ({"nodes": 10**30}, "`nodes` is 1000000000000000000000000000000"),
    "nodes a few too many": ({"nodes": 2**40}, "more than 31-bit ids"),
    "nodes a fraction": ({"nodes": 3.5}, "nodes are 3.5"),
    "nodes True": ({"nodes": True}, "nodes are True"),
    "nodes a matrix": ({"nodes": RING}, r"shape \(10, 2\)"),
    "an unknown argument": ({"wieght": [1] * 10}, "no argument 'wieght'"),
    "an argument of files": ({"label": "team"}, "no argument 'label' here"),
    "a column of an array": ({"source": "a"}, "these edges have none"),
    "threads negative": ({"threads": -1}, "`threads` is -1"),
    "threads zero": ({"threads": 0}, "`threads` is 0"),
    "threads too many": ({"threads": 2**70}, "`threads` is 1180591620717411303424"),
    "threads a text": ({"threads": "2"}, "`threads` is '2'"),
    "threads a fraction": ({"threads": 1.5}, "`threads` is 1.5"),
}


@pytest.mark.parametrize("case", ARGUMENTS)
def test_what_belongs_to_the_edges_is_checked(case: str) -> None:
    arguments, message = ARGUMENTS[case]
    with pytest.raises((ValueError, TypeError), match=message):
        ring(**arguments)


SETTINGS: dict[str, tuple[dict[str, Any], str]] = {
    "unknown": ({"epoch": 3}, "unknown setting `epoch`; did you mean `epochs`"),
    "negative": ({"epochs": -1}, "`epochs` is -1"),
    "a fraction": ({"epochs": 1.5}, "`epochs` is 1.5"),
    "a text": ({"epochs": "many"}, "`epochs` is 'many'"),
    "an array": ({"epochs": np.array([1, 2])}, "`epochs` is array"),
    "a bool": ({"epochs": True}, "`epochs` is True"),
    "huge": ({"seed": 2**64}, "`seed` is 18446744073709551616"),
    "not a number": ({"learning_rate": float("nan")}, "`learning_rate` is NaN"),
    "out of range": ({"dropout": 2}, "`dropout` is 2"),
    "too wide": ({"width": 10**12}, "`width` is 1000000000000"),
    "a model": ({"model": "gcnn"}, "unknown model `gcnn`; did you mean `gcn`"),
    "a task": ({"task": "links"}, "unknown task `links`"),
    "a task without labels": ({"task": "node-classification"}, "needs labels"),
    "threads": ({"threads": -1}, "`threads` is -1"),
    "a part": ({"without": ["walks", "x"]}, r"`without` is \['walks', 'x'\]"),
    "a callback": ({"callback": 5}, "not callable"),
    "a split by name": ({"split": "other"}, "`split` is 'other'"),
    "a split of numbers": ({"split": [1, 2]}, r"split.*\[1, 2\]"),
}


@pytest.mark.parametrize("case", SETTINGS)
def test_settings_are_checked(case: str) -> None:
    given_settings, message = SETTINGS[case]
    with pytest.raises((ValueError, TypeError), match=message):
        nigh.train(RING, **{"epochs": 1, "repeats": 1, "progress": False, **given_settings})


@pytest.fixture(scope="module")
def model() -> nigh.Model:
    return nigh.train(RING, model="smp-linear", epochs=1, repeats=1, progress=False)


QUESTIONS: dict[str, tuple[Callable[[nigh.Model], Any], str]] = {
    "nothing": (lambda model: model.predict(), "answers `node=` or `pairs=`"),
    "two": (lambda model: model.predict(node=1, pairs=RING), "ask one"),
    "an unknown node": (lambda model: model.predict(node=99), "unknown node `99`"),
    "a table of nodes": (lambda model: model.predict(node=[[1, 2], [3, 4]]), r"shape \(2, 2\)"),
    "not a number": (lambda model: model.predict(node=float("nan")), "nan is no id"),
    "a bool": (lambda model: model.predict(node=True), "true and false"),
    "top negative": (lambda model: model.predict(node=1, top=-1), "`top` is -1"),
    "top huge": (lambda model: model.predict(node=1, top=2**70), "`top` is 118"),
    "top a fraction": (lambda model: model.predict(node=1, top=1.5), "`top` is 1.5"),  # type: ignore[arg-type]
    "pairs 3-d": (lambda model: model.predict(pairs=np.zeros((2, 2, 2), dtype=int)), "shape"),
    "pairs a text": (lambda model: model.predict(pairs="ab"), "pairs are 'ab'"),
    "classes": (lambda model: model.predict_proba(), "has no classes"),
    "classes of nodes": (lambda model: model.predict(nodes=[1]), "has no classes"),
    "no graph": (lambda model: model.embed(5), "edges are 5"),
    "a folder that is a number": (lambda model: model.save(5), "not int"),  # type: ignore[arg-type]
    "an unknown format": (lambda model: model.embed().write("vectors.xls"), "must end in .npy"),
    "certify": (lambda model: nigh.certify(RING, epsilon=-1), "`epsilon` is -1"),
    "certify pairs": (lambda model: nigh.certify(RING, pairs=-1), "`pairs` is -1"),
    "certify seed": (lambda model: nigh.certify(RING, seed=-1), "`seed` is -1"),
    "certify hops": (lambda model: nigh.certify(RING, hops=-1), "`hops` is -1"),
    "certify signal": (lambda model: nigh.certify(RING, signal="x"), "unknown signal `x`"),
    "compare": (lambda model: nigh.compare(RING, ["gnc"], progress=False), "unknown model `gnc`"),
    "compare numbers": (lambda model: nigh.compare(RING, [5], progress=False), "int"),  # type: ignore[list-item]
    "a table": (lambda model: nigh.report("appendix"), "unknown table `appendix`"),
    "too few edges": (lambda model: nigh.train([(0, 1)], progress=False), "at least 3 are needed"),
}


@pytest.mark.parametrize("case", QUESTIONS)
def test_questions_are_checked(case: str, model: nigh.Model) -> None:
    ask, message = QUESTIONS[case]
    with pytest.raises((ValueError, TypeError), match=message):
        ask(model)


def test_a_failed_file_is_an_os_error(model: nigh.Model, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("no folder")
    with pytest.raises(OSError, match="file"):
        model.save(tmp_path / "file" / "model")
    with pytest.raises(OSError, match="file"):
        model.embed().write(tmp_path / "file" / "vectors.npy")
    with pytest.raises(OSError, match="no such file"):
        nigh.Graph("no/such/edges.csv")
    with pytest.raises(ValueError, match="did you mean `cora`"):
        nigh.Graph("coraa")
    with pytest.raises(OSError, match="no such folder"):
        nigh.load("no/such/model")
    with pytest.raises(OSError, match="own.toml"):
        nigh.report("own.toml")
    assert list(tmp_path.iterdir()) == [tmp_path / "file"], "nothing half-written stays"


def test_a_training_that_diverges_says_what_helps() -> None:
    with pytest.raises(nigh.NighError, match="diverged.*smaller"):
        nigh.train(RING, model="smp-linear", learning_rate=1e30, epochs=3, repeats=1, progress=False)


def test_several_labels_may_stand_beside_single_ones() -> None:
    graph = ring(labels=[["a", "b"], "a", None, float("nan"), 3, (), {"b"}, frozenset(), ["a", None], -1])
    assert graph.class_names == ["3", "a", "b"]
    expected = [[0, 1, 1], [0, 1, 0], [0, 0, 0], [0, 0, 0], [1, 0, 0], [0, 0, 0], [0, 0, 1], [0, 0, 0], [0, 1, 0], [0, 0, 0]]
    assert graph.labels is not None and graph.labels.tolist() == expected


# Sparse matrices --------------------------------------------------------------------------------------------------------


def tampered(change: Callable[[Any], None], kind: str = "csr") -> Any:
    """A sparse matrix of 10 rows and 4 columns, whose arrays are changed behind SciPy's back."""
    rows, cols = np.arange(10), np.arange(10) % 4
    matrix = scipy_sparse.csr_matrix((np.ones(10), (rows, cols)), shape=(10, 4)).asformat(kind)
    change(matrix)
    return matrix


def put(name: str, place: Any, value: Any) -> Callable[[Any], None]:
    def change(matrix: Any) -> None:
        array = getattr(matrix, name).copy()
        array[place] = value
        setattr(matrix, name, array)

    return change


def cut(name: str) -> Callable[[Any], None]:
    return lambda matrix: setattr(matrix, name, getattr(matrix, name)[:-1])


def said(name: str) -> Callable[[Any], None]:
    """Claims that entries are in order and none is there twice, after the first two were exchanged or made the same."""

    def change(matrix: Any) -> None:
        matrix.indptr = np.array([0, 2, 2, *range(3, 11)], dtype=matrix.indptr.dtype)
        matrix.indices[:2] = (1, 1) if name == "twice" else (3, 1)
        matrix.has_canonical_format = True

    return change


MALFORMED: dict[str, tuple[str, Callable[[Any], None], str]] = {
    "a column too large": ("csr", put("indices", 3, 4), "row 3: column 4 is out of range; there are 4 columns"),
    "a column far too large": ("csr", put("indices", 3, 2**31 - 1), "row 3: column 2147483647 is out of range"),
    "a negative column": ("csr", put("indices", 7, -1), "row 7: column -1 is out of range"),
    "starts that fall": ("csr", put("indptr", 4, 9), "row 4: indptr falls from 9 to 5"),
    "a first start of one": ("csr", put("indptr", 0, 1), "row 0: indptr starts with 1"),
    "a negative start": ("csr", put("indptr", 1, -1), "row 0: indptr falls from 0 to -1"),
    "an end too large": ("csr", put("indptr", -1, 1000), "row 9: indptr is 1000, but there are 10 entries"),
    "an end too small": ("csr", put("indptr", -1, 9), "row 9: indptr ends with 9 before 10 entries"),
    "starts too few": ("csr", cut("indptr"), "indptr has 10 numbers; expected 11 for 10 rows"),
    "values too few": ("csr", cut("data"), r"values of the shape \(9,\) for 10 entries"),
    "columns too few": ("csr", cut("indices"), r"values of the shape \(10,\) for 9 entries"),
    "columns with fractions": ("csr", lambda m: setattr(m, "indices", m.indices + 0.5), "the type float64"),
    "not a number": ("csr", put("data", 5, np.nan), "row 5, column 1: nan is not a"),
    "infinite": ("csr", put("data", 6, np.inf), "row 6, column 2: inf is not a"),
    "a row too large": ("csc", put("indices", 0, 10), "column 0: row 10 is out of range; there are 10 rows"),
    "columns that fall": ("csc", put("indptr", 2, 0), "column 1: indptr falls from 3 to 0"),
    "a place outside": ("coo", put("row", 2, 10), "entry 2: row 10 is out of range"),
    "a negative place": ("coo", put("col", 2, -4), "row 2: column -4 is out of range"),
    "places too few": ("coo", cut("col"), "10 row numbers for 9 column numbers"),
}


@pytest.mark.parametrize("case", MALFORMED)
def test_a_malformed_matrix_is_refused_with_its_row_and_value(case: str) -> None:
    kind, change, message = MALFORMED[case]
    with pytest.raises(nigh.InputError, match=f"features.*{message}"):
        ring(features=tampered(change, kind))
    if "number" not in case and "infinite" not in case:
        with pytest.raises(nigh.InputError, match="labels"):
            ring(labels=tampered(change, kind))

    def square(matrix: Any) -> None:
        matrix.resize(10, 10)
        change(matrix)

    if case != "a column too large":
        with pytest.raises(nigh.InputError, match="edges"):
            nigh.Graph(tampered(square, kind))


@pytest.mark.parametrize("name", ["twice", "out of order"])
def test_entries_in_any_order_add_up_whatever_the_matrix_says_of_itself(name: str) -> None:
    matrix = tampered(said(name))
    expected = np.zeros((10, 4), dtype=np.float32)
    np.add.at(expected, (np.repeat(np.arange(10), np.diff(matrix.indptr)), matrix.indices), 1)
    before = matrix.indices.copy()
    found = ring(features=matrix)._native.features()
    assert isinstance(found, tuple)
    dense = scipy_sparse.csr_matrix((found[2], found[1], found[0]), shape=(10, 4)).toarray()
    assert np.array_equal(dense, expected)
    assert np.array_equal(matrix.indices, before), "the user's matrix stays as it is"


def test_sparse_labels_are_those_of_the_full_matrix() -> None:
    matrix = scipy_sparse.csr_matrix(np.eye(10, 3, dtype=int))
    matrix.data[0] = 0
    full = ring(labels=np.asarray(matrix.todense())).labels
    assert full is not None
    sparse = ring(labels=matrix).labels
    assert sparse is not None and np.array_equal(sparse, full)
    with pytest.raises(nigh.InputError, match="row 1, column 1 is 7.0; expected 0 or 1"):
        ring(labels=matrix * 7)


# Anything at all ------------------------------------------------------------------------------------------------------

odd_values = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.integers(-3, 3),
    st.floats(),
    st.complex_numbers(),
    st.text(max_size=3),
    st.binary(max_size=3),
    st.dates(),
    st.tuples(st.integers(), st.text(max_size=2)),
    st.sampled_from([np.int8(1), np.uint64(2**63), np.float16(1), np.str_("a"), np.bool_(True), np.datetime64("2020"), object()]),
)
odd_lists = st.recursive(odd_values, lambda inner: st.lists(inner, max_size=5), max_leaves=12)
odd_arrays = arrays.arrays(
    dtype=st.one_of(
        arrays.scalar_dtypes(), arrays.byte_string_dtypes(), arrays.unicode_string_dtypes(), st.just(np.dtype(object))
    ),
    shape=arrays.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=4),
    elements=None,
)
odd_pairs = st.lists(st.tuples(odd_values, odd_values), max_size=6)
anything = st.one_of(odd_values, odd_lists, odd_arrays, odd_pairs, st.dictionaries(st.integers(-2, 12), odd_values, max_size=4))

quickly = settings(
    max_examples=300, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much]
)


def used_or_refused(make: Callable[[], nigh.Graph]) -> None:
    """A graph that holds together, or a plain error with a message of one line."""
    try:
        graph = make()
    except (ValueError, TypeError) as error:
        assert str(error) and not type(error).__name__.startswith("Unicode")
        return
    assert graph.num_nodes == len(graph.ids) == len(graph.degrees) > 0
    assert graph.edge_index.shape == (2, graph.num_edges)
    assert repr(graph) and graph._repr_html_()


@quickly
@given(anything)
def test_edges_of_any_kind_are_used_or_refused(edges: Any) -> None:
    if isinstance(edges, str):
        edges = [edges]  # A name or a path.
    used_or_refused(lambda: nigh.Graph(edges))


@quickly
@given(st.sampled_from(["features", "labels", "nodes", "weight"]), anything)
def test_arguments_of_any_kind_are_used_or_refused(name: str, value: Any) -> None:
    if name == "nodes" and isinstance(value, (int, np.integer)) and 10**5 < value < 2**31:
        value = 10**5  # As many nodes would be a graph, and take gigabytes.
    used_or_refused(lambda: ring(**{name: value}))


@quickly
@given(arrays.arrays(np.int64, st.tuples(st.integers(1, 30), st.just(2)), elements=st.integers(-(2**63), 2**63 - 1)))
def test_any_integers_are_ids_and_come_back(edges: Array) -> None:
    if (edges[:, 0] == edges[:, 1]).all():
        return
    # Two rows would be two rows of a 2 × M array.
    graph = nigh.Graph([tuple(edge) for edge in edges.tolist()])
    assert isinstance(graph.ids, np.ndarray)
    assert graph.ids.tolist() == sorted(set(edges.ravel().tolist()))


def test_settings_are_listed_by_group() -> None:
    groups = {row["setting"]: row["group"] for row in nigh.settings().rows}
    assert (groups["epochs"], groups["walk_length"]) == ("Common settings", "node2vec")
    assert next(iter(groups.values())) == "Common settings"


@quickly
@given(st.dictionaries(st.text(max_size=8), odd_values, max_size=2))
def test_settings_of_any_kind_are_used_or_refused(given_settings: dict[str, Any]) -> None:
    names = {row["setting"] for row in nigh.settings().rows}
    unknown = {name: value for name, value in given_settings.items() if name not in names | {"split", "threads", "callback"}}
    if not any(value is not None for value in unknown.values()):
        return
    with pytest.raises((ValueError, TypeError)):
        nigh.train(RING, progress=False, **unknown)
