"""The same graph from whatever a user has; ids, features and labels as the user wrote them."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import nigh
import nigh._nigh

Array = np.ndarray[Any, Any]

#: Ten nodes, twelve edges, each once and the smaller end first.
EDGES = np.array(
    [[0, 1], [0, 2], [1, 2], [2, 3], [3, 4], [4, 5], [4, 6], [5, 6], [6, 7], [7, 8], [8, 9], [0, 9]], dtype=np.int64
)
WEIGHTS = np.arange(1, 13) / 4
NAMES = ["ann", "bob", "cem", "dov", "eva", "fay", "gus", "hal", "ida", "joe"]

needs_arrow = pytest.mark.skipif(not hasattr(nigh._nigh, "read_arrow"), reason="this build reads no Arrow streams")


def named(edges: Array = EDGES) -> list[tuple[str, str]]:
    return [(NAMES[a], NAMES[b]) for a, b in edges]


@pytest.fixture(scope="module")
def digest() -> str:
    return nigh.Graph(EDGES).digest


# Edges: NumPy ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", "int8 int16 int32 int64 uint8 uint16 uint32 uint64 float32 float64 object >i4 >i8".split())
def test_every_dtype_that_holds_ids_gives_the_same_graph(kind: str, digest: str) -> None:
    edges = EDGES.astype(kind)
    assert nigh.Graph(edges).digest == digest
    assert nigh.Graph(edges.T).digest == digest


def layouts() -> dict[str, Callable[[], Array]]:
    def read_only() -> Array:
        edges = EDGES.copy()
        edges.flags.writeable = False
        return edges

    def every_third() -> Array:
        wide = np.full((3 * len(EDGES), 6), 77)
        wide[::3, 1:5:3] = EDGES
        return wide[::3, 1:5:3]

    def unaligned() -> Array:
        buffer = np.zeros(EDGES.nbytes + 1, dtype=np.uint8)
        edges = buffer[1:].view(np.int64).reshape(EDGES.shape)
        edges[:] = EDGES
        return edges

    return {
        "fortran": lambda: np.asfortranarray(EDGES),
        "fortran, 2 x M": lambda: np.asfortranarray(EDGES.T),
        "contiguous 2 x M": lambda: np.ascontiguousarray(EDGES.T),
        "reversed rows": lambda: EDGES[::-1],
        "reversed ends": lambda: EDGES[:, ::-1],
        "reversed both": lambda: EDGES[::-1, ::-1],
        "read-only": read_only,
        "every third of a wider array": every_third,
        "unaligned": unaligned,
        "a broadcast of nothing": lambda: np.concatenate([EDGES, np.broadcast_to(EDGES[:1], (4, 2))]),
        "both directions": lambda: np.concatenate([EDGES, EDGES[:, ::-1]]),
    }


@pytest.mark.parametrize("layout", layouts())
def test_every_layout_in_memory_gives_the_same_graph(layout: str, digest: str) -> None:
    assert nigh.Graph(layouts()[layout]()).digest == digest


def test_a_broadcast_array_with_a_step_of_zero_is_read() -> None:
    star = np.stack([np.broadcast_to(np.int64(0), 5), np.arange(1, 6)])
    assert nigh.Graph(star).num_edges == 5
    zeros = np.broadcast_to(np.int64(0), 5)
    assert nigh.Graph((zeros, np.arange(1, 6))).num_edges == 5


def test_a_matrix_of_two_by_two_is_read_as_an_edge_index() -> None:
    graph = nigh.Graph(np.array([[0, 1], [2, 3]]))
    assert graph.edge_index.T.tolist() == [[0, 2], [1, 3]]
    pairs = nigh.Graph([(0, 1), (2, 3)])
    assert pairs.edge_index.T.tolist() == [[0, 1], [2, 3]], "a list is one of pairs"


def test_lists_tuples_generators_and_two_columns_give_the_same_graph(digest: str) -> None:
    pairs = EDGES.tolist()
    for edges in (pairs, [tuple(pair) for pair in pairs], tuple(map(tuple, pairs)), (pair for pair in pairs), set(map(tuple, pairs))):
        assert nigh.Graph(edges).digest == digest
    assert nigh.Graph((EDGES[:, 0], EDGES[:, 1])).digest == digest
    assert nigh.Graph(EDGES.T.tolist()).digest == digest
    assert nigh.Graph(list(EDGES)).digest == digest, "rows of an array"


def test_the_arrays_of_the_user_are_left_as_they_were() -> None:
    edges, weights, features = EDGES.copy(), WEIGHTS.copy(), np.eye(10)
    nigh.train(nigh.Graph(edges, weight=weights, features=features), epochs=1, repeats=1, progress=False)
    assert (edges == EDGES).all() and (weights == WEIGHTS).all() and (features == np.eye(10)).all()


# Edges: other libraries -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("form", ["csr", "csc", "coo", "lil", "dok", "bsr"])
@pytest.mark.parametrize("kind", ["matrix", "array"])
def test_scipy_matrices_give_the_same_graph(form: str, kind: str, digest: str) -> None:
    sparse = pytest.importorskip("scipy.sparse")
    entries = (np.ones(len(EDGES)), (EDGES[:, 0], EDGES[:, 1]))
    upper = getattr(sparse, f"coo_{kind}")(entries, shape=(10, 10))
    assert nigh.Graph(upper.asformat(form)).digest == digest
    assert nigh.Graph((upper + upper.T).asformat(form)).digest == digest


def test_entries_of_a_matrix_are_weights_unless_all_are_one() -> None:
    sparse = pytest.importorskip("scipy.sparse")
    matrix = sparse.coo_matrix((WEIGHTS, (EDGES[:, 0], EDGES[:, 1])), shape=(10, 10))
    assert nigh.Graph(matrix).digest == nigh.Graph(EDGES, weight=WEIGHTS).digest
    assert nigh.Graph(matrix, weight=False).digest == nigh.Graph(EDGES).digest


def test_explicit_zeros_of_a_matrix_are_no_edges(digest: str) -> None:
    sparse = pytest.importorskip("scipy.sparse")
    ends = np.concatenate([EDGES, [[3, 9]]])
    data = np.append(np.ones(len(EDGES)), 0)
    assert nigh.Graph(sparse.coo_matrix((data, (ends[:, 0], ends[:, 1])), shape=(10, 10))).digest == digest


@pytest.mark.parametrize("kind", ["Graph", "DiGraph", "MultiGraph", "MultiDiGraph"])
def test_networkx_graphs_give_the_same_graph(kind: str, digest: str) -> None:
    networkx = pytest.importorskip("networkx")
    own = getattr(networkx, kind)()
    own.add_nodes_from(range(10))
    own.add_edges_from(EDGES.tolist())
    if "Multi" in kind:
        own.add_edge(0, 1)
    assert nigh.Graph(own).digest == digest
    texts = networkx.relabel_nodes(own, dict(enumerate(NAMES)))
    graph = nigh.Graph(texts)
    assert (graph.digest, graph.ids) == (digest, NAMES)


def test_nodes_of_networkx_keep_their_order_and_need_no_edge() -> None:
    networkx = pytest.importorskip("networkx")
    own = networkx.Graph([("b", "a")])
    own.add_node("alone")
    graph = nigh.Graph(own)
    assert graph.ids == ["b", "a", "alone"]
    assert graph.degrees.tolist() == [1, 1, 0]


def test_attributes_of_networkx_are_weights_features_and_labels() -> None:
    networkx = pytest.importorskip("networkx")
    own = networkx.Graph()
    for node in range(10):
        own.add_node(NAMES[node], age=node, height=1.5 * node, team="red" if node < 5 else "blue")
    for (a, b), weight in zip(named(), WEIGHTS.tolist()):
        own.add_edge(a, b, weight=weight, cost=2 * weight)
    plain = nigh.Graph(EDGES, weight=WEIGHTS)
    graph = nigh.Graph(own, features=["age", "height"], labels="team")
    assert graph.digest == plain.digest
    assert (graph.feature_names, graph.class_names) == (["age", "height"], ["blue", "red"])
    assert graph._native.features().tolist() == [[node, 1.5 * node] for node in range(10)]  # type: ignore[union-attr]
    assert nigh.Graph(own, weight="cost").digest == nigh.Graph(EDGES, weight=2 * WEIGHTS).digest
    assert nigh.Graph(own, weight=False).digest == nigh.Graph(EDGES).digest


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_frames_give_the_same_graph(library: str, digest: str) -> None:
    frames = pytest.importorskip(library)
    columns = {"source": EDGES[:, 0], "target": EDGES[:, 1]}
    assert nigh.Graph(frames.DataFrame(columns)).digest == digest
    weighted = nigh.Graph(EDGES, weight=WEIGHTS).digest
    assert nigh.Graph(frames.DataFrame({"weight": WEIGHTS, **columns})).digest == weighted
    own = frames.DataFrame({"when": WEIGHTS, "who": EDGES[:, 0], "whom": EDGES[:, 1]})
    assert nigh.Graph(own, source="who", target="whom").digest == digest
    assert nigh.Graph(own, source="who", target="whom", weight="when").digest == weighted
    texts = frames.DataFrame({"a": [a for a, _ in named()], "b": [b for _, b in named()]})
    assert nigh.Graph(texts).ids == NAMES


@pytest.mark.parametrize("kind", ["Int64", "Int32", "category", "string", "object", "int64[pyarrow]"])
def test_every_dtype_of_pandas_that_holds_ids_is_read(kind: str, digest: str) -> None:
    pandas = pytest.importorskip("pandas")
    if "pyarrow" in kind:
        pytest.importorskip("pyarrow")
    frame = pandas.DataFrame({"source": EDGES[:, 0], "target": EDGES[:, 1]}).astype(kind)
    assert nigh.Graph(frame).digest == digest


def test_categories_of_polars_are_ids() -> None:
    polars = pytest.importorskip("polars")
    frame = polars.DataFrame({"a": [a for a, _ in named()], "b": [b for _, b in named()]})
    assert nigh.Graph(frame.with_columns(polars.all().cast(polars.Categorical))).ids == NAMES


@needs_arrow
def test_an_arrow_stream_gives_the_same_graph(digest: str) -> None:
    pyarrow = pytest.importorskip("pyarrow")
    table = pyarrow.table({"source": EDGES[:, 0], "target": EDGES[:, 1]})

    class OnlyAStream:
        def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
            return table.__arrow_c_stream__(requested_schema)

    assert nigh.Graph(OnlyAStream()).digest == digest
    assert nigh.Graph(table).digest == digest


@pytest.mark.parametrize("name", ["edges.csv", "edges.tsv", "edges.txt"])
@pytest.mark.parametrize("kind", [str, Path])
def test_a_path_gives_the_same_graph(name: str, kind: type, digest: str, tmp_path: Path) -> None:
    separator = {".csv": ",", ".tsv": "\t", ".txt": " "}[Path(name).suffix]
    (tmp_path / name).write_text("".join(f"{a}{separator}{b}\n" for a, b in EDGES))
    assert nigh.Graph(kind(tmp_path / name)).digest == digest


class Tensor:
    """What is used of a tensor of PyTorch."""

    def __init__(self, array: Any) -> None:
        self.array = np.asarray(array)

    def detach(self) -> Tensor:
        return self

    def cpu(self) -> Tensor:
        return self

    def __array__(self, dtype: Any = None, copy: Any = None) -> Array:
        return self.array if dtype is None else self.array.astype(dtype)

    def __len__(self) -> int:
        return len(self.array)


def test_a_tensor_of_any_shape_and_place_is_an_edge_index(digest: str) -> None:
    assert nigh.Graph(Tensor(EDGES.T)).digest == digest
    assert nigh.Graph(Tensor(EDGES)).digest == digest


def test_a_data_of_pyg_brings_features_labels_and_weights() -> None:
    both = np.concatenate([EDGES, EDGES[:, ::-1]]).T
    classes = np.arange(10) % 3
    data = SimpleNamespace(
        edge_index=Tensor(both),
        num_nodes=10,
        x=Tensor(np.eye(10, dtype=np.float32)),
        y=Tensor(classes),
        edge_weight=Tensor(np.concatenate([WEIGHTS, WEIGHTS])),
        edge_attr=None,
    )
    graph = nigh.Graph(data)
    assert graph.digest == nigh.Graph(EDGES, weight=WEIGHTS).digest
    assert graph.num_features == 10
    assert graph.labels is not None and graph.labels.tolist() == classes.tolist()
    assert nigh.Graph(data, labels=[0] * 10).class_names == ["0"], "what the user gives wins"


def test_a_graph_of_dgl_brings_features_labels_and_weights() -> None:
    class DglGraph:
        """What is used of a graph of DGL."""

        ndata = {"feat": Tensor(np.eye(10)), "label": Tensor(np.arange(10) % 2)}
        edata = {"w": Tensor(WEIGHTS)}

        def edges(self) -> tuple[Tensor, Tensor]:
            return Tensor(EDGES[:, 0]), Tensor(EDGES[:, 1])

        def num_nodes(self) -> int:
            return 10

    graph = nigh.Graph(DglGraph())
    assert graph.digest == nigh.Graph(EDGES).digest
    assert (graph.num_features, graph.class_names) == (10, ["0", "1"])
    assert nigh.Graph(DglGraph(), weight="w").digest == nigh.Graph(EDGES, weight=WEIGHTS).digest


def test_the_real_pyg_gives_the_same_graph(digest: str) -> None:
    torch, data = pytest.importorskip("torch"), pytest.importorskip("torch_geometric.data")
    own = data.Data(edge_index=torch.tensor(EDGES.T.copy()), x=torch.eye(10), y=torch.arange(10) % 2)
    graph = nigh.Graph(own)
    assert (graph.digest, graph.num_features, graph.class_names) == (digest, 10, ["0", "1"])


# Ids ------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "names",
    [NAMES, [str(100 - node) for node in range(10)], [1000 * node - 5000 for node in range(10)], ["é ü", "日本", *NAMES[2:]]],
    ids=["texts", "texts of digits", "integers", "texts beyond ASCII"],
)
def test_ids_come_back_in_every_answer_as_they_were_written(names: list[Any]) -> None:
    edges = [(names[a], names[b]) for a, b in EDGES]
    classes = {name: "red" if node < 5 else "blue" for node, name in enumerate(names)}
    graph = nigh.Graph(edges, labels=classes)
    kind = type(names[0])
    listed = graph.ids if isinstance(graph.ids, list) else graph.ids.tolist()
    assert sorted(listed) == sorted(names) and {type(name) for name in listed} == {kind}
    model = nigh.train(graph, model="smp-linear", epochs=2, repeats=1, progress=False)
    vectors = model.embed()
    assert list(vectors.ids) == list(graph.ids)
    links = model.predict(node=names[0], top=3, existing=True)
    assert {type(name) for name in (links.ids if isinstance(links.ids, list) else links.ids.tolist())} == {kind}
    assert set(links.ids) < set(names)
    pairs = model.predict(pairs=[(names[0], name) for name in links.ids])
    assert pairs.tolist() == pytest.approx(links.scores.tolist(), abs=1e-6)
    classifier = nigh.train(graph, "node-classification", "smp-linear", epochs=2, repeats=1, progress=False)
    rows = classifier.predict_proba(nodes=[names[3], names[1]])
    everything = classifier.predict_proba()
    assert rows.tolist() == [everything[listed.index(names[3])].tolist(), everything[listed.index(names[1])].tolist()]
    assert set(classifier.predict(nodes=names[:2])) <= {"red", "blue"}


def test_weights_of_networkx_that_some_edges_lack_are_not_used() -> None:
    networkx = pytest.importorskip("networkx")
    graph = networkx.Graph([(0, 1, {"weight": 2.0}), (1, 2)])
    assert nigh.Graph(graph).digest == nigh.Graph([(0, 1), (1, 2)]).digest
    with pytest.raises(nigh.InputError, match=r"edge \(1, 2\) has no attribute `weight`"):
        nigh.Graph(graph, weight="weight")


def test_nodes_are_known_by_their_ids_in_a_graph_of_another_order(communities: nigh.Graph) -> None:
    ids, edges = np.asarray(communities.ids), communities.edge_index
    turned = nigh.Graph(ids[edges], nodes=ids[::-1].copy())
    assert np.array_equal(turned.ids, ids[::-1])
    settings: dict[str, Any] = {"model": "smp-linear", "epochs": 5, "repeats": 1, "progress": False}
    model, pairs = nigh.train(communities, **settings), [(0, 1), (3, 200), (399, 7)]
    assert model.predict(pairs=pairs, graph=turned) == pytest.approx(model.predict(pairs=pairs), abs=1e-5)
    for existing in (False, True):
        links, others = (model.predict(node=3, top=100, existing=existing, graph=graph) for graph in (None, turned))
        assert links.exists.any() == existing
        assert set(links.ids[:20].tolist()) <= set(others.ids.tolist())
        assert others.scores == pytest.approx(links.scores, abs=1e-5)
    labels = np.asarray(communities.class_names)[communities.labels]
    graph = nigh.Graph(edges, labels=labels)
    model = nigh.train(graph, task="node-classification", **settings)
    found, again = model.predict_proba(), model.predict_proba(graph=turned)
    assert again == pytest.approx(found[::-1], abs=1e-4)


def test_integers_and_texts_of_digits_are_told_apart() -> None:
    texts, numbers = nigh.Graph([("1", "2"), ("2", "3")]), nigh.Graph([(1, 2), (2, 3)])
    assert texts.ids == ["1", "2", "3"]
    assert isinstance(numbers.ids, np.ndarray) and numbers.ids.tolist() == [1, 2, 3]
    assert texts.digest == numbers.digest


def test_numpy_texts_and_mixed_lists_are_texts() -> None:
    assert nigh.Graph(np.array([["x", "y"], ["y", "z"], ["z", "x"]])).ids == ["x", "y", "z"]
    assert nigh.Graph([("1", 2), (2, "x")]).ids == ["1", "2", "x"]


def test_an_unknown_id_is_named_with_the_nearest_one() -> None:
    model = nigh.train(named(), model="smp-linear", epochs=1, repeats=1, progress=False)
    with pytest.raises(ValueError, match="gusz.*did you mean.*gus"):
        model.predict(node="gusz")
    with pytest.raises(ValueError, match="999"):
        nigh.train(EDGES, model="smp-linear", epochs=1, repeats=1, progress=False).predict(pairs=[(0, 999)])


def test_nodes_without_an_edge_are_counted_or_listed() -> None:
    assert nigh.Graph(EDGES, nodes=12).num_nodes == 12
    graph = nigh.Graph(EDGES, nodes=[20, *range(10)])
    assert isinstance(graph.ids, np.ndarray) and graph.ids.tolist() == [20, *range(10)]
    assert graph.degrees[0] == 0
    assert nigh.Graph(named(), nodes=[*NAMES, "zoe"]).ids == [*NAMES, "zoe"]


# Features -------------------------------------------------------------------------------------------------------------

ROWS = np.arange(30, dtype=np.float64).reshape(10, 3)


def features_of(graph: nigh.Graph) -> list[list[float]]:
    found = graph._native.features()
    assert isinstance(found, np.ndarray)
    return [list(map(float, row)) for row in found]


def test_features_are_matched_by_order_by_id_by_index_and_by_key() -> None:
    expected = ROWS.tolist()
    assert features_of(nigh.Graph(EDGES, features=ROWS)) == expected
    assert features_of(nigh.Graph(EDGES, features=np.asfortranarray(ROWS))) == expected
    assert features_of(nigh.Graph(EDGES, features=ROWS[::-1][::-1])) == expected
    assert features_of(nigh.Graph(EDGES, features=expected)) == expected
    assert features_of(nigh.Graph(EDGES, features=Tensor(ROWS))) == expected
    shuffled = list(range(9, -1, -1))
    keyed = {node: ROWS[node] for node in shuffled}
    assert features_of(nigh.Graph(EDGES, features=keyed)) == expected
    by_name = {NAMES[node]: ROWS[node].tolist() for node in shuffled}
    assert features_of(nigh.Graph(named(), features=by_name)) == expected
    given = nigh.Graph(EDGES, nodes=shuffled, features=ROWS[shuffled])
    assert given._native.ids().tolist() == shuffled and features_of(given) == ROWS[shuffled].tolist()  # type: ignore[union-attr]


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_features_of_frames_are_matched_by_a_column_of_ids(library: str) -> None:
    frames = pytest.importorskip(library)
    shuffled = list(range(9, -1, -1))
    frame = frames.DataFrame({"id": shuffled, **{f"x{at}": ROWS[shuffled, at] for at in range(3)}})
    graph = nigh.Graph(EDGES, features=frame)
    assert features_of(graph) == ROWS.tolist()
    assert graph.feature_names == ["x0", "x1", "x2"]


def test_features_of_pandas_are_matched_by_their_index() -> None:
    pandas = pytest.importorskip("pandas")
    shuffled = list(range(9, -1, -1))
    frame = pandas.DataFrame(ROWS[shuffled], index=[NAMES[node] for node in shuffled], columns=list("abc"))
    assert features_of(nigh.Graph(named(), features=frame)) == ROWS.tolist()
    counted = pandas.DataFrame(ROWS, columns=list("abc"))
    assert features_of(nigh.Graph(EDGES, features=counted)) == ROWS.tolist()


@pytest.mark.parametrize("form", ["csr", "csc", "coo"])
def test_sparse_features_are_those_of_the_full_matrix(form: str) -> None:
    sparse = pytest.importorskip("scipy.sparse")
    full = np.where(ROWS % 4 == 0, ROWS, 0)
    vectors = [
        np.asarray(nigh.train(nigh.Graph(EDGES, features=given), model="gcn", epochs=3, repeats=1, progress=False).embed())
        for given in (full, sparse.coo_matrix(full).asformat(form))
    ]
    assert np.array_equal(vectors[0], vectors[1])


# Labels ---------------------------------------------------------------------------------------------------------------

TEAMS = ["red", "blue", "red", "blue", "red", None, "blue", "red", "blue", "red"]
NUMBERS = [1, 0, 1, 0, 1, -1, 0, 1, 0, 1]


def test_labels_are_matched_by_order_by_id_by_index_and_by_key() -> None:
    keyed = {node: team for node, team in enumerate(TEAMS) if team is not None}
    for given in (TEAMS, np.array(TEAMS, dtype=object), keyed, dict(reversed(keyed.items()))):
        graph = nigh.Graph(EDGES, labels=given)
        assert graph.class_names == ["blue", "red"]
        assert graph.labels is not None and graph.labels.tolist() == NUMBERS
    numbers = nigh.Graph(EDGES, labels=NUMBERS)
    assert numbers.class_names == ["0", "1"]
    assert numbers.labels is not None and numbers.labels.tolist() == NUMBERS
    floats = nigh.Graph(EDGES, labels=[float("nan") if number < 0 else float(number) for number in NUMBERS])
    assert floats.labels is not None and floats.labels.tolist() == NUMBERS


def test_labels_of_pandas_are_matched_by_their_index_or_a_column_of_ids() -> None:
    pandas = pytest.importorskip("pandas")
    series = pandas.Series(TEAMS, index=NAMES, name="team")
    frame = pandas.DataFrame({"id": NAMES, "label": TEAMS})
    for given in (series, series.iloc[::-1], frame, frame.iloc[::-1], series.astype("category"), series.to_frame()):
        graph = nigh.Graph(named(), labels=given)
        assert graph.labels is not None and graph.labels.tolist() == NUMBERS


def test_labels_of_polars_are_matched_by_order_or_a_column_of_ids() -> None:
    polars = pytest.importorskip("polars")
    for given in (polars.Series(TEAMS), polars.DataFrame({"id": NAMES, "label": TEAMS}).reverse()):
        graph = nigh.Graph(named(), labels=given)
        assert graph.labels is not None and graph.labels.tolist() == NUMBERS


def test_several_labels_come_in_lists_or_in_columns_of_zero_and_one() -> None:
    sets = [["a", "b"], ["b"], [], ["a"], ["c"], ["a", "c"], [], ["b"], ["c"], ["a", "b", "c"]]
    expected = [[int(letter in row) for letter in "abc"] for row in sets]
    for given in (sets, [tuple(row) for row in sets], {node: set(row) for node, row in enumerate(sets)}):
        graph = nigh.Graph(EDGES, labels=given)
        assert graph.class_names == ["a", "b", "c"]
        assert graph.labels is not None and graph.labels.tolist() == expected
    for columns in (np.array(expected), np.array(expected, dtype=bool), np.array(expected, dtype=np.float32)):
        graph = nigh.Graph(EDGES, labels=columns)
        assert graph.labels is not None and graph.labels.tolist() == expected
    sparse = pytest.importorskip("scipy.sparse")
    graph = nigh.Graph(EDGES, labels=sparse.csr_matrix(np.array(expected)))
    assert graph.labels is not None and graph.labels.tolist() == expected


def test_weights_are_an_array_a_column_or_left_out() -> None:
    weighted = nigh.Graph(EDGES, weight=WEIGHTS)
    assert weighted.digest != nigh.Graph(EDGES).digest
    for given in (WEIGHTS.tolist(), WEIGHTS.astype(np.float32), WEIGHTS[:, np.newaxis], Tensor(WEIGHTS)):
        assert nigh.Graph(EDGES, weight=given).digest == weighted.digest


# Notes ----------------------------------------------------------------------------------------------------------------


def notes_of(call: Callable[[], Any]) -> list[warnings.WarningMessage]:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        call()
    return [warning for warning in caught if issubclass(warning.category, nigh.Note)]


def test_notes_are_warnings_at_the_line_of_the_user(tmp_path: Path) -> None:
    doubled = np.concatenate([EDGES, EDGES[:1]])
    calls: dict[str, Callable[[], Any]] = {
        "Graph": lambda: nigh.Graph(doubled),
        "train": lambda: nigh.train(doubled, epochs=1, repeats=1, progress=False),
        "compare": lambda: nigh.compare(doubled, ["sgc", "katz"], epochs=1, repeats=2, progress=False),
        "certify": lambda: nigh.certify(doubled, signal_dim=8, pairs=10),
    }
    for name, call in calls.items():
        notes = notes_of(call)
        assert any("merged" in str(note.message) for note in notes), name
        assert {note.filename for note in notes} == {__file__}, name
    model = nigh.train(EDGES, epochs=1, repeats=1, progress=False)
    asked: dict[str, Callable[[], Any]] = {
        "evaluate": lambda: model.evaluate(doubled),
        "predict": lambda: model.predict(node=1, graph=doubled),
        "embed": lambda: model.embed(doubled),
    }
    for name, call in asked.items():
        notes = notes_of(call)
        assert any("merged" in str(note.message) for note in notes), name
        assert {note.filename for note in notes} == {__file__}, name


def test_a_setting_without_effect_is_a_note() -> None:
    notes = notes_of(lambda: nigh.train(EDGES, model="sgc", signal_dim=8, epochs=1, repeats=1, progress=False))
    assert any("signal_dim has no effect" in str(note.message) for note in notes)
    assert all(note.filename == __file__ for note in notes)


def test_notes_can_be_silenced_and_are_kept_by_the_graph() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", nigh.Note)
        graph = nigh.Graph(np.concatenate([EDGES, EDGES[:1]]))
    assert any("merged" in note for note in graph.notes)
