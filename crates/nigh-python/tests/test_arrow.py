"""Tables through Arrow's C interface: what is read of pyarrow, polars and pandas, and how embeddings are handed out."""

from __future__ import annotations

import ctypes
import datetime
import gc
import math
import resource

import numpy as np
import pytest

from nigh import _nigh
from nigh._errors import InputError
from nigh._inputs import ids, named

pa = pytest.importorskip("pyarrow")
pl = pytest.importorskip("polars")
pd = pytest.importorskip("pandas")


def read(table):
    return dict(_nigh.read_arrow(table))


def column(array):
    return read(pa.table({"x": array}))["x"]


def problem(table, name="x"):
    with pytest.raises(InputError) as error:
        read(table)[name].to_numpy()
    return str(error.value)


def same(found, expected, dtype=None):
    assert np.asarray(found).tolist() == expected
    if dtype is not None:
        assert found.dtype == dtype


# Types ----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"])
def test_integers_of_every_width_are_int64(kind):
    limits = np.iinfo(kind)
    values = [limits.min, 0, 1, min(limits.max, np.iinfo(np.int64).max)]
    same(column(pa.array(values, kind)), values, np.int64)
    frame = pl.DataFrame({"x": np.array(values, kind)})
    same(read(frame)["x"], values, np.int64)
    same(read(pd.DataFrame({"x": np.array(values, kind)}))["x"], values, np.int64)


def test_an_integer_beyond_int64_stays_as_it_is_and_is_no_id():
    values = column(pa.array([1, 2**64 - 1], pa.uint64()))
    same(values, [1, 2**64 - 1], np.uint64)
    with pytest.raises(InputError, match="column `x` hold 18446744073709551615"):
        ids(values, "column `x`")


def test_floats_keep_their_width():
    same(column(pa.array([0.1, -2.5], pa.float64())), [0.1, -2.5], np.float64)
    same(column(pa.array([0.5, -2.5], pa.float32())), [0.5, -2.5], np.float32)
    same(column(pa.array(np.array([0.5, -2.5, 65504], np.float16))), [0.5, -2.5, 65504], np.float32)


def test_booleans_are_as_pandas_and_polars_give_them():
    values = [i % 3 == 0 for i in range(19)]
    same(column(pa.array(values)), values, np.bool_)
    same(read(pl.DataFrame({"x": values}))["x"], values, np.bool_)
    assert named(column(pa.array(values[:2]))) == named(pd.Series(values[:2]))


TEXTS = ["a", "", "Zürich", "a text that is longer than twelve bytes", "b" * 1000]


@pytest.mark.parametrize("kind", [pa.string(), pa.large_string(), pa.string_view(), pa.binary(), pa.large_binary(), pa.binary_view()])
def test_texts_of_every_layout_are_str(kind):
    values = [text.encode() for text in TEXTS] if "binary" in str(kind) else TEXTS
    assert column(pa.array(values, kind)) == TEXTS
    assert column(pa.array([None, *values, None], kind).slice(2)) == [*TEXTS[1:], None]


def test_texts_of_polars_and_pandas():
    assert read(pl.DataFrame({"x": TEXTS}))["x"] == TEXTS
    assert read(pl.DataFrame({"x": TEXTS})[2:4])["x"] == TEXTS[2:4]
    assert read(pd.DataFrame({"x": TEXTS}))["x"] == TEXTS


def test_dictionaries_are_decoded():
    values = ["b", "a", None, "b"]
    for index in [pa.int8(), pa.uint8(), pa.int32(), pa.uint64()]:
        assert column(pa.array(values).cast(pa.dictionary(index, pa.string()))) == values
    same(column(pa.array([7, -1, 7]).dictionary_encode()), [7, -1, 7], np.int64)
    assert column(pa.DictionaryArray.from_arrays([0, 1, None], [5, None])) == [5, None, None]
    assert read(pl.DataFrame({"x": pl.Series(values, dtype=pl.Categorical)}))["x"] == values
    assert read(pl.DataFrame({"x": pl.Series(values, dtype=pl.Enum(["a", "b"]))}))["x"] == values
    assert read(pd.DataFrame({"x": pd.Categorical(values)}))["x"] == values
    chunks = pa.chunked_array([pa.array(["a"]).dictionary_encode(), pa.array(["b", "a"]).dictionary_encode()])
    assert column(chunks) == ["a", "b", "a"]


def test_lists_of_labels():
    rows = [["a", "b"], [], None, ["c", "a"]]
    for kind in [pa.list_(pa.string()), pa.large_list(pa.string())]:
        found = column(pa.array(rows, kind))
        assert found.dtype == object and found.tolist() == rows
        assert column(pa.array(rows, kind).slice(1)).tolist() == rows[1:]
    assert read(pl.DataFrame({"x": rows}))["x"].tolist() == rows
    assert named(read(pl.DataFrame({"x": rows}))["x"]) == {"labels": ["a", "b", "c", "a"], "label_starts": [0, 2, 2, 2, 4]}
    # Lists of one length are not taken for a matrix.
    assert column(pa.array([[1, 2], [3, 4]])).tolist() == [[1, 2], [3, 4]]
    assert column(pa.array([[1, 2], [3, 4]])).shape == (2,)
    assert column(pa.array([[1, None], [3]])).tolist() == [[1, None], [3]]


def test_lists_of_fixed_size_and_floats_are_matrices():
    fixed = pa.array([[0, 1], [1, 0], [1, 1]], pa.list_(pa.int64(), 2))
    same(column(fixed), [[0, 1], [1, 0], [1, 1]], np.int64)
    same(column(fixed.slice(1, 2)), [[1, 0], [1, 1]], np.int64)
    same(column(pa.array([[0.5, 1], [2, 3]])), [[0.5, 1], [2, 3]], np.float64)
    same(read(pl.DataFrame({"x": pl.Series([[1.0, 2.0]], dtype=pl.Array(pl.Float32, 2))}))["x"], [[1, 2]], np.float32)
    assert column(pa.array([[0.5], [2, 3]])).tolist() == [[0.5], [2, 3]]
    assert column(pa.array([[1, 2], None], pa.list_(pa.int64(), 2))).tolist() == [[1, 2], None]


@pytest.mark.parametrize(
    ("values", "name"),
    [
        (pa.array([datetime.date(2020, 1, 1)]), "date"),
        (pa.array([datetime.datetime(2020, 1, 1)]), "timestamp"),
        (pa.array([datetime.timedelta(1)]), "duration"),
        (pa.array([datetime.time(1)]), "time"),
        (pa.array([1], pa.decimal128(5)), "decimal"),
        (pa.array([{"a": 1}]), "struct"),
        (pa.array([None]), "null"),
        (pa.array([[[1]]]), "list of other things than numbers and texts"),
        (pa.array([0.5]).dictionary_encode(), "dictionary of neither texts nor integers"),
    ],
)
def test_other_types_are_named_once_they_are_used(values, name):
    table = pa.table({"source": [1], "x": values})
    expected = f"column `x` holds values of type {name}; expected integers, floats, booleans, texts, or lists of these"
    assert problem(table) == expected
    # A table of edges may have a column of times.
    same(read(table)["source"], [1], np.int64)
    with pytest.raises(InputError, match="column `x` holds"):
        ids(read(table)["x"], "column `x`")


# Rows -----------------------------------------------------------------------------------------------------------------


def test_nulls():
    found = column(pa.array([1.5, None]))
    assert found[0] == 1.5 and math.isnan(found[1])
    assert column(pa.array(["a", None])) == ["a", None]
    assert column(pa.array([True, None])) == [True, None]
    found = column(pa.array([2**62 + 1, None, 3]))
    assert found == [2**62 + 1, None, 3]
    with pytest.raises(InputError, match="column `x`, row 1: None is no id"):
        ids(found, "column `x`")
    # Where null is no label.
    assert named(found) == {"labels": [str(2**62 + 1), "", "3"]}
    assert read(pd.DataFrame({"x": pd.array([1, None], "Int64")}))["x"] == [1, None]
    assert read(pl.DataFrame({"x": [None, 1]}))["x"] == [None, 1]


def test_slices_chunks_and_empty_batches():
    rows = [None if i % 7 == 3 else i for i in range(100)]
    kinds = {
        "integer": pa.array(rows),
        "flag": pa.array([None if i is None else i % 2 == 0 for i in rows]),
        "text": pa.array([None if i is None else f"node {i} of the graph" for i in rows]),
        "view": pa.array([None if i is None else f"node {i} of the graph" for i in rows], pa.string_view()),
        "list": pa.array([None if i is None else [str(i)] * (i % 3) for i in rows]),
        "code": pa.array([None if i is None else str(i % 5) for i in rows]).dictionary_encode(),
    }
    whole = pa.table(kinds)
    pieces = [whole.slice(0, 0), whole.slice(3, 18), whole.slice(50, 0), whole.slice(21, 62)]
    found = read(pa.concat_tables(pieces))
    for name, values in whole.slice(3, 80).to_pydict().items():
        assert list(found[name]) == values, name
    # The struct of a batch is cut itself.
    cut = pa.StructArray.from_arrays(list(kinds.values()), list(kinds)).slice(9, 30)
    found = read(pa.chunked_array([cut]))
    for name, values in whole.slice(9, 30).to_pydict().items():
        assert list(found[name]) == values, name


def test_a_table_without_rows():
    found = read(pa.table({"a": pa.array([], pa.int32()), "b": pa.array([], pa.string()), "c": pa.array([], pa.list_(pa.string()))}))
    assert found["a"].dtype == np.int64 and found["a"].shape == (0,)
    assert found["b"] == [] and found["c"].tolist() == []
    assert read(pl.DataFrame({"x": []}, schema={"x": pl.Float32}))["x"].dtype == np.float32
    assert _nigh.read_arrow(pa.table({})) == []


def test_a_reader_and_a_series_are_tables():
    table = pa.table({"a": [1, 2], "b": ["x", "y"]})
    assert _nigh.read_arrow(table.to_reader())[1] == ("b", ["x", "y"])
    assert _nigh.read_arrow(pl.Series("name", ["x"])) == [("name", ["x"])]
    assert [name for name, _ in _nigh.read_arrow(pa.table([[1], [2]], names=["x", "x"]))] == ["x", "x"]


def test_null_rows_of_a_struct_are_refused():
    rows = pa.chunked_array([pa.array([{"a": 1}, None])])
    with pytest.raises(InputError, match=r"the Arrow stream of `ChunkedArray` has no values at all in row 1 \(null\)"):
        read(rows)


# Hostile producers ----------------------------------------------------------------------------------------------------


class Producer:
    def __init__(self, capsule):
        self.capsule = capsule

    def __arrow_c_stream__(self, requested_schema=None):
        return self.capsule


class Stream(ctypes.Structure):
    pass


class Array(ctypes.Structure):
    _fields_ = [
        *((name, ctypes.c_int64) for name in ("length", "null_count", "offset", "n_buffers", "n_children")),
        ("buffers", ctypes.POINTER(ctypes.c_void_p)),
        ("children", ctypes.POINTER(ctypes.c_void_p)),
        ("dictionary", ctypes.c_void_p),
        ("release", ctypes.c_void_p),
        ("private_data", ctypes.c_void_p),
    ]


NEXT = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.POINTER(Stream), ctypes.POINTER(Array))
Stream._fields_ = [
    ("get_schema", ctypes.c_void_p),
    ("get_next", NEXT),
    ("get_last_error", ctypes.c_void_p),
    ("release", ctypes.c_void_p),
    ("private_data", ctypes.c_void_p),
]
pointer_of = ctypes.pythonapi.PyCapsule_GetPointer
pointer_of.restype, pointer_of.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]


def spoilt(table, spoil):
    """A stream of pyarrow, of which `spoil` changes each batch before it is handed over; its answer is the error code."""
    producer = Producer(table.__arrow_c_stream__())
    stream = Stream.from_address(pointer_of(producer.capsule, b"arrow_array_stream"))
    original = ctypes.cast(stream.get_next, ctypes.c_void_p).value
    original = NEXT(original)

    def get_next(stream, out):
        code = original(stream, out)
        return code or (spoil(out.contents) or 0 if out.contents.release else 0)

    producer.get_next = NEXT(get_next)
    stream.get_next = producer.get_next
    return producer


def first_child(array):
    return Array.from_address(array.children[0])


def test_what_is_no_stream_is_refused():
    with pytest.raises(InputError, match="`int` is no table: it has no `__arrow_c_stream__`"):
        read(7)
    with pytest.raises(InputError, match=r"`Producer.__arrow_c_stream__` returns no capsule"):
        read(Producer(7))
    with pytest.raises(InputError, match="returns a capsule of another name"):
        read(Producer(pa.schema([]).__arrow_c_schema__()))
    taken = Producer(pa.table({"x": [1]}).__arrow_c_stream__())
    same(read(taken)["x"], [1])
    with pytest.raises(InputError, match="returns a stream that was read before"):
        read(taken)


def test_a_stream_that_fails_says_why():
    def batches():
        yield pa.record_batch({"x": [1]})
        raise OSError("the disk is gone")

    reader = pa.RecordBatchReader.from_batches(pa.schema([("x", pa.int64())]), batches())
    with pytest.raises(InputError, match=r"(?s)the Arrow stream of `RecordBatchReader` failed: .*the disk is gone"):
        read(reader)
    with pytest.raises(InputError, match="the Arrow stream of `Producer` failed"):
        read(spoilt(pa.table({"x": [1]}), lambda array: 5))


def assign(field, value):
    return lambda array: setattr(first_child(array), field, value)


def overwrite(buffer, at, value):
    def spoil(array):
        ctypes.c_int32.from_address(first_child(array).buffers[buffer] + 4 * at).value = value

    return spoil


def drop_buffer(at):
    def spoil(array):
        first_child(array).buffers[at] = None

    return spoil


@pytest.mark.parametrize(
    ("values", "spoil", "message"),
    [
        ([1, 2], assign("length", 1), "column `x` has 1 values where 2 from 0 on are needed"),
        ([1, 2], assign("length", -1), "column `x` has -1 values from 0 on"),
        ([1, 2], assign("offset", -1), "column `x` has 2 values from -1 on"),
        ([1, 2], assign("offset", 2**63 - 2), "column `x` has a buffer of 2 values"),
        ([1, 2], assign("n_buffers", 1), "column `x` has 1 buffers where 2 are needed"),
        ([1, 2], assign("n_buffers", -1), "column `x` has -1 buffers where 2 are needed"),
        ([1, 2], assign("null_count", 1), "column `x` has no buffer 0 for its 1 values"),
        ([1, 2], drop_buffer(1), "column `x` has no buffer 1 for its 2 values"),
        (["a", "b"], drop_buffer(2), "column `x` has no buffer 2 for its 2 values"),
        (["a", "b"], overwrite(1, 1, 5), "column `x` has offsets that go back"),
        (["a", "b"], overwrite(1, 0, -1), "column `x` has offsets that go back"),
        (["a", "b"], overwrite(2, 0, 255), "column `x` has a text that is not UTF-8 in row 0"),
        ([["a"], ["b"]], assign("n_children", 0), "column `x` has lists without items"),
        ([["a"], ["b"]], overwrite(1, 2, 100), "column `x` has 2 values where 100 from 0 on are needed"),
        (pa.array(["a"]).dictionary_encode(), overwrite(1, 0, 3), "column `x` names entry 3 of a dictionary of 1"),
        (pa.array(["a"]).dictionary_encode(), overwrite(1, 0, -1), "column `x` names entry -1 of a dictionary of 1"),
        (pa.array(["a"]).dictionary_encode(), assign("dictionary", None), "column `x` has no dictionary"),
        (pa.array(["b" * 20], pa.string_view()), overwrite(1, 2, 1), "column `x` has a text in buffer 1 of 1"),
        (pa.array(["b" * 20], pa.string_view()), overwrite(1, 3, 8), "column `x` has a text that ends at byte 28 of 20"),
    ],
)
def test_a_damaged_column_is_an_error(values, spoil, message):
    table = pa.table({"x": values})
    assert problem(spoilt(table, spoil)).startswith(message)


def test_a_damaged_batch_is_an_error():
    for field, value, message in [
        ("length", -1, "has -1 values from 0 on"),
        ("n_children", 0, "has a batch of 0 columns instead of 1"),
        ("n_children", -1, "has a structure of -1 parts without them"),
    ]:
        with pytest.raises(InputError, match=message):
            read(spoilt(pa.table({"x": [1]}), lambda array: setattr(array, field, value)))


# Embeddings -----------------------------------------------------------------------------------------------------------


def embedding(source, target):
    graph = _nigh.Graph.from_columns({"source": source, "target": target}, 1)
    settings = {"task": "link-prediction", "model": "smp-linear", "epochs": 1, "repeats": 1}
    model, _ = _nigh.train(graph, settings, None, False, 1)
    return model.embed(graph, None, 1)[0]


def ring(start):
    nodes = np.arange(start, start + 30, dtype=np.int64)
    return nodes, np.roll(nodes, 1)


@pytest.mark.parametrize("start", [0, 100])
def test_an_embedding_is_a_table_of_ids_and_vectors(start):
    vectors = embedding(*ring(start))
    width = vectors.array().shape[1]
    table = pa.table(vectors)
    assert table.schema.names == ["id", "vector"]
    assert table.schema.types == [pa.int64(), pa.list_(pa.float32(), width)]
    table.validate(full=True)
    assert table["id"].to_pylist() == vectors.ids().tolist()
    assert table["vector"].to_pylist() == vectors.array().tolist()
    frame = pl.DataFrame(vectors)
    assert frame.schema == {"id": pl.Int64, "vector": pl.Array(pl.Float32, width)}
    assert (frame["vector"].to_numpy() == vectors.array()).all()
    found = read(vectors)
    assert (found["vector"] == vectors.array()).all() and (found["id"] == vectors.ids()).all()
    # A wish for another schema is passed over.
    capsule = vectors.__arrow_c_stream__(pa.schema([("id", pa.string())]).__arrow_c_schema__())
    assert pa.table(Producer(capsule)).schema == table.schema


def test_ids_that_are_texts_come_as_texts():
    source, target = ([f"knoten {node} ü" for node in nodes.tolist()] for nodes in ring(0))
    vectors = embedding(source, target)
    table = pa.table(vectors)
    table.validate(full=True)
    assert table["id"].to_pylist() == vectors.ids()
    assert pl.DataFrame(vectors)["id"].to_list() == vectors.ids()
    numbered = embedding(*([str(node) for node in nodes.tolist()] for nodes in ring(0)))
    assert pl.DataFrame(numbered)["id"].to_list() == numbered.ids()
    assert isinstance(numbered.ids()[0], str)


def test_vectors_are_not_copied_and_outlive_the_embedding():
    vectors = embedding(*ring(5))
    expected, address = vectors.array().tolist(), vectors.array().__array_interface__["data"][0]
    table = pa.table(vectors)
    items = table["vector"].chunk(0).flatten()
    assert items.buffers()[1].address == address
    capsule = vectors.__arrow_c_stream__()
    del vectors
    gc.collect()
    assert table["vector"].to_pylist() == expected
    later = pl.DataFrame(Producer(capsule))
    # A child outlives its table.
    del table, capsule
    gc.collect()
    assert later["vector"].to_list() == expected
    assert items.to_pylist() == [value for row in expected for value in row]


def test_memory_does_not_grow():
    vectors = embedding(*ring(5))
    rows = 5000
    table = pa.table({"x": range(rows), "y": ["a longer text"] * rows, "z": [["a", "b"]] * rows})
    damaged = pa.table({"y": pa.array([b"\xff" * 8] * rows)})

    def once():
        read(table)
        read(damaged)
        pa.table(vectors)
        vectors.__arrow_c_stream__()
        with pytest.raises(InputError):
            read(spoilt(table, lambda array: 5))

    def peak():
        gc.collect()
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss

    for _ in range(100):
        once()
    before, held = peak(), pa.total_allocated_bytes()
    for _ in range(1000):
        once()
    # A leak of one column per read would be 40 MB at least.
    assert peak() - before < 16 * 1024
    assert pa.total_allocated_bytes() == held
