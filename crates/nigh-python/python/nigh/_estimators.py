"""Estimators of scikit-learn: the graph is a parameter, and a sample is the id of a node or a pair of them.

What an estimator was not given to fit does not reach its training: neither the labels of other nodes, which are ignored even
where the graph has them, nor, by default, edges between other pairs. So cross-validation and grid search measure what they say.
"""

from __future__ import annotations

import difflib
import inspect
from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.linear_model import LogisticRegression
from sklearn.utils import assert_all_finite, check_consistent_length, column_or_1d
from sklearn.utils.multiclass import check_classification_targets, type_of_target
from sklearn.utils.validation import check_is_fitted

from . import _inputs, _nigh
from ._errors import InputError, note
from ._graph import Graph
from ._model import Model, train

Array = np.ndarray[Any, Any]
Init = TypeVar("Init", bound=Callable[..., None])

#: Settings of `train` that an estimator decides itself, because it splits what it is given in two.
DECIDED = {
    "task", "split", "test_fraction", "test_edges", "test_negative_ratio", "same_label_pairs",
    "train_per_class", "valid_per_class", "test_per_class",
}  # fmt: skip
SETTINGS = [name for name, *_ in _nigh.settings() if name not in DECIDED]


def with_settings(init: Init) -> Init:
    """Lists every setting in the signature of a constructor, where scikit-learn looks for parameters."""
    signature = inspect.signature(init)
    own = [given for given in signature.parameters.values() if given.kind is not inspect.Parameter.VAR_KEYWORD]
    names = {given.name for given in own}
    rest = [inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=None) for name in SETTINGS if name not in names]
    setattr(init, "__signature__", signature.replace(parameters=[*own, *rest]))  # noqa: B010
    return init


class GraphEstimator(BaseEstimator):  # type: ignore[misc]
    """What the estimators share: parameters, and training on a part of what is given while the rest chooses the epoch."""

    model_: Model

    def _store(self, given: dict[str, Any], settings: dict[str, Any]) -> None:
        """Keeps every parameter under its name, as scikit-learn expects of a constructor, and checks none of them."""
        names = list(inspect.signature(type(self).__init__).parameters)
        for name in settings:
            if name not in names:
                close = difflib.get_close_matches(name, names, 1)
                hint = f"; did you mean {close[0]!r}?" if close else ""
                raise TypeError(f"{type(self).__name__} has no parameter {_inputs.shown(name)}{hint}")
        for name in SETTINGS:
            setattr(self, name, settings.get(name))
        for name, value in given.items():
            if name not in ("self", "settings", "__class__"):
                setattr(self, name, value)

    def _the_graph(self) -> Graph:
        graph = self.graph
        return graph if isinstance(graph, Graph) else Graph(graph, threads=self.threads)

    def _train(self, task: str, graph: Graph) -> Model:
        settings = {name: getattr(self, name) for name in SETTINGS if name != "valid_fraction"}
        return train(graph, task=task, progress=self.progress, threads=self.threads, memory=self.memory, **settings)

    def _held_out(self, classes: Array) -> Array:
        """Which samples choose the epoch: a fraction of each class, one of the largest at least, never all of a class."""
        fraction = self.valid_fraction
        if not 0 < fraction < 1:
            raise InputError(f"`valid_fraction` is {fraction!r}; expected a number between 0 and 1")
        random = np.random.default_rng(self.seed)
        held_out = np.zeros(len(classes), dtype=bool)
        kinds, counts = np.unique(classes, return_counts=True)
        for kind, count in zip(kinds, counts):
            share = min(round(fraction * count), count - 1)
            if not share and kind == kinds[counts.argmax()]:
                share = min(1, count - 1)
            held_out[random.permutation(np.flatnonzero(classes == kind))[:share]] = True
        return held_out

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.one_d_array, tags.input_tags.two_d_array, tags.input_tags.string = True, False, True
        return tags


class NodeClassifier(ClassifierMixin, GraphEstimator):  # type: ignore[misc]
    """Tells the classes of nodes. A sample is the id of a node.

    Parameters
    ----------
    graph : Graph, or anything that `Graph` takes
        Its edges and features are used. Its labels are not: `fit` is given those to learn from.
    model : str, optional
        A model of the catalog (`nigh.models`); by default the one that answers the task best.
    epochs, learning_rate : optional
        By default what suits the model.
    repeats : int, default 1
        Trainings with seeds of their own, of which the best on the validation part is kept.
    seed : int, default 1
    valid_fraction : float, default 0.1
        The fraction of the nodes of each class given to `fit` that chooses the epoch; the others are learnt from.
    threads : int, optional
        By default one per core. With ``n_jobs`` of scikit-learn, ``threads=1`` avoids that jobs disturb each other.
    memory : str or int, optional
        A limit for training and answers, such as ``"8GiB"`` or bytes; see `nigh.train`.
    progress : bool, default False
        Show a bar.
    **settings
        Every other setting of `nigh.train` about models and training, by its name.

    Attributes
    ----------
    classes_ : array
        The classes, in the order of the columns of `predict_proba`; for columns of 0 and 1 the numbers of the columns.
    model_ : Model
        What was trained. Its figures are those of the validation part.

    Examples
    --------
    >>> import nigh
    >>> from sklearn.model_selection import cross_val_score
    >>> graph = nigh.Graph("communities")
    >>> scores = cross_val_score(nigh.NodeClassifier(graph, model="smp-linear", epochs=40), graph.ids, graph.labels, cv=3)
    >>> bool(scores.mean() > 0.9)
    True
    """

    @with_settings
    def __init__(
        self,
        graph: Any,
        *,
        model: str | None = None,
        epochs: int | None = None,
        learning_rate: float | None = None,
        repeats: int = 1,
        seed: int = 1,
        valid_fraction: float = 0.1,
        threads: int | None = None,
        memory: int | str | None = None,
        progress: bool = False,
        **settings: Any,
    ) -> None:
        self._store(locals(), settings)

    def fit(self, X: Any, y: Any) -> NodeClassifier:
        """Learns from the classes of some nodes.

        Parameters
        ----------
        X : ids of nodes
            One each, in a row or a column.
        y : array
            The class of each node; or a matrix of 0 and 1 with a column per class, where nodes may have several. A node
            without any of them is left out.
        """
        if y is None:
            raise ValueError("NodeClassifier requires y to be passed, but the target y is None")
        graph = self._the_graph()
        nodes = graph._native.find(node_ids(X))
        y = targets(y)
        check_consistent_length(nodes, y)
        several = y.ndim == 2
        classes, labels = (np.arange(y.shape[1]), y.astype(bool)) if several else one_hot(y)
        nodes, labels = distinct(graph, nodes, labels)
        if several:
            nodes, labels = nodes[labels.any(axis=1)], labels[labels.any(axis=1)]
        if len(nodes) < 2 or len(classes) < 2:
            given = f"{count(len(nodes), 'labelled node')} of {count(len(classes), 'class', 'es')}"
            raise InputError(f"{given}; expected two at least")
        valid = self._held_out(np.zeros(len(nodes)) if several else labels.argmax(axis=1))
        if not valid.any():
            raise InputError("every class has one node; expected two of some class at least, one of which chooses the epoch")
        names = [str(name) for name in classes.tolist()]
        native = _nigh.fit_nodes(graph._native, nodes, labels, several, names, valid)
        self.model_ = self._train("node-classification", graph._with(native))
        self.classes_ = classes
        return self

    def predict_proba(self, X: Any) -> Array:
        """The probability of each class, in the order of `classes_`; rows sum to one, unless nodes may have several."""
        check_is_fitted(self)
        found = self.model_.predict_proba(node_ids(X), threads=self.threads, memory=self.memory).astype(np.float64)
        return found if self.model_._native.is_multi_label else found / found.sum(axis=1, keepdims=True)

    def predict(self, X: Any) -> Array:
        """The most likely class of each node; or 0 and 1 for each class, where nodes may have several."""
        found = self.predict_proba(X)
        if self.model_._native.is_multi_label:
            return (found >= 0.5).astype(np.int64)
        answer: Array = self.classes_[found.argmax(axis=1)]
        return answer

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_label = True
        return tags


class LinkPredictor(ClassifierMixin, GraphEstimator):  # type: ignore[misc]
    """Tells which pairs of nodes are linked. A sample is a pair of ids.

    By default message passing sees the linked pairs that `fit` was given and no other edge: the graph says which nodes there are
    and what features they have. Whatever a fold of a cross-validation holds out is thus hidden, also where the graph
    has it. With ``edges="graph"`` it sees the edges of the graph as well, which then must not be among those that are asked
    about later; asking for such an edge gives a `nigh.Note`.

    Pairs have no direction: (a, b) and (b, a) are one pair.

    Parameters
    ----------
    graph : Graph, or anything that `Graph` takes
    model : str, optional
        A model of the catalog (`nigh.models`); by default the one that answers the task best.
    edges : {"fit", "graph"}, default "fit"
        What message passing sees: linked pairs that `fit` is given, or all edges of the graph beside them.
    epochs, learning_rate : optional
        By default what suits the model.
    repeats : int, default 1
        Trainings with seeds of their own, of which the best on the validation part is kept.
    seed : int, default 1
    valid_fraction : float, default 0.1
        The fraction of the linked pairs given to `fit` that is hidden from training, and chooses the epoch.
    threads : int, optional
        By default one per core. With ``n_jobs`` of scikit-learn, ``threads=1`` avoids that jobs disturb each other.
    memory : str or int, optional
        A limit for training and answers, such as ``"8GiB"`` or bytes; see `nigh.train`.
    progress : bool, default False
        Show a bar.
    **settings
        Every other setting of `nigh.train` about models and training, by its name.

    Attributes
    ----------
    classes_ : array of 2
        The second means a link.
    model_ : Model
        What was trained. Its figures are those of the validation part.

    Examples
    --------
    >>> import nigh, numpy as np
    >>> from sklearn.model_selection import StratifiedKFold, cross_val_score
    >>> graph = nigh.Graph("communities")
    >>> linked, split = graph.ids[graph.edge_index.T], nigh.split(graph)
    >>> others = np.concatenate([split.valid_negative, split.test_negative])
    >>> pairs, y = np.concatenate([linked, others]), np.repeat([1, 0], [len(linked), len(others)])
    >>> predictor = nigh.LinkPredictor(graph, model="smp-linear", epochs=40)
    >>> folds = StratifiedKFold(3, shuffle=True, random_state=1)
    >>> bool(cross_val_score(predictor, pairs, y, cv=folds, scoring="roc_auc").mean() > 0.95)
    True
    """

    @with_settings
    def __init__(
        self,
        graph: Any,
        *,
        model: str | None = None,
        edges: str = "fit",
        epochs: int | None = None,
        learning_rate: float | None = None,
        repeats: int = 1,
        seed: int = 1,
        valid_fraction: float = 0.1,
        threads: int | None = None,
        memory: int | str | None = None,
        progress: bool = False,
        **settings: Any,
    ) -> None:
        self._store(locals(), settings)

    def fit(self, X: Any, y: Any = None) -> LinkPredictor:
        """Learns from pairs.

        Linked pairs are learnt from and told from pairs that are drawn at random. Pairs without a link choose the epoch and
        the threshold of `predict`, together with the linked pairs of the validation part; if there are none, others are drawn.

        Parameters
        ----------
        X : pairs of ids
            M × 2.
        y : array, optional
            1 for a link and 0 for none, or two other classes of which the larger is a link. By default all are links.
        """
        if self.edges not in ("fit", "graph"):
            raise InputError(f"`edges` is {self.edges!r}; expected 'fit' or 'graph'")
        graph = self._the_graph()
        pairs = pair_places(graph, *pair_ids(X))
        self.classes_, linked = links(y, len(pairs))
        pairs, linked = distinct_pairs(graph, pairs, linked)
        positive, negative = pairs[linked], pairs[~linked]
        if len(positive) < 2:
            raise InputError(f"{count(len(positive), 'linked pair')}; expected two at least, one of which chooses the epoch")
        known = positive if self.edges == "fit" else with_edges(graph, positive, negative)
        # The pairs that were given come first.
        valid = np.zeros(len(known), dtype=bool)
        valid[: len(positive)] = self._held_out(np.zeros(len(positive)))
        others = negative if len(negative) else non_edges(graph.num_nodes, known, int(valid.sum()), self.seed)
        if not len(others):
            raise InputError("all pairs of nodes are linked, so that there is nothing to tell links from")
        self.model_ = self._train("link-prediction", graph._with(_nigh.fit_pairs(graph._native, known, valid, others)))
        self._given = keys(positive, graph.num_nodes)
        # Each pair stands for as many as were given of its kind.
        weights = np.repeat(
            [len(positive) / valid.sum(), (len(negative) or len(positive)) / len(others)], [valid.sum(), len(others)]
        )
        judged, is_linked = np.concatenate([known[valid], others]), np.arange(len(weights)) < valid.sum()
        self._calibrate(known[~valid], judged, is_linked, weights)
        return self

    def _calibrate(self, seen: Array, pairs: Array, linked: Array, weights: Array) -> None:
        """Fits the sigmoid of `predict_proba` to pairs, while message passing sees the edges of the training alone."""
        graph = self.model_.graph
        assert graph is not None
        native = _nigh.fit_pairs(graph._native, seen, np.zeros(len(seen), dtype=bool), seen[:0])
        ids = graph.ids
        # That it is not the whole graph needs no note.
        scores, _ = self._scores(graph._with(native), select(ids, pairs[:, 0]), select(ids, pairs[:, 1]))
        mean, scale = scores.mean(), scores.std() or 1.0
        fitted = LogisticRegression().fit(((scores - mean) / scale)[:, np.newaxis], linked, sample_weight=weights)
        # Never falling: however poor the model is, pairs keep the order of its scores.
        self.slope_ = max(float(fitted.coef_[0, 0]), 1e-3) / float(scale)
        self.intercept_ = float(fitted.intercept_[0] - self.slope_ * mean)

    def _scores(self, graph: Graph, source: _inputs.Ids, target: _inputs.Ids) -> tuple[Array, list[str]]:
        scores, notes = self.model_._native.scores(graph._native, source, target, _inputs.memory(self.memory), self.threads)
        return scores.astype(np.float64), notes

    def decision_function(self, X: Any) -> Array:
        """The log-odds of a link: the score of each pair, moved and scaled so that 0 is the threshold of `predict`."""
        check_is_fitted(self)
        graph = self.model_.graph
        assert graph is not None
        source, target = pair_ids(X)
        pairs = pair_places(graph, source, target)
        if self.edges == "graph":
            asked = keys(pairs, graph.num_nodes)
            seen = np.isin(asked, keys(graph._native.edges(), graph.num_nodes)) & ~np.isin(asked, self._given)
            if seen.any():
                share = f"{count(int(seen.sum()), 'pair')} of {len(asked):,}"
                note([f"{share}: message passing sees the edge that is to be predicted"])
        scores, notes = self._scores(graph, source, target)
        note(notes)
        return self.slope_ * scores + self.intercept_

    def predict_proba(self, X: Any) -> Array:
        """The probability that there is no link, and that there is one: a sigmoid fitted on the validation part.

        It is of pairs as they were given to `fit`: where every second one is linked, every second one here should be.
        """
        linked = 1 / (1 + np.exp(-self.decision_function(X)))
        return np.stack([1 - linked, linked], axis=1)

    def predict(self, X: Any) -> Array:
        """The class of each pair."""
        linked = self.decision_function(X) > 0
        answer: Array = self.classes_[linked.astype(int)]
        return answer

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class, tags.target_tags.required = False, False
        return tags


class Embedder(ClassNamePrefixFeaturesOutMixin, TransformerMixin, GraphEstimator):  # type: ignore[misc]
    """Gives nodes vectors, for a classifier or a search. A sample is the id of a node.

    It learns from all edges of the graph, and from neither labels nor `y`: use it before a classifier of nodes, but not to predict
    edges of the same graph.

    Parameters
    ----------
    graph : Graph, or anything that `Graph` takes
    model : str, optional
        A model of the catalog (`nigh.models`); by default the one that predicts links best.
    epochs, learning_rate : optional
        By default what suits the model.
    repeats : int, default 1
        Trainings with seeds of their own, of which the best on the validation part is kept.
    seed : int, default 1
    valid_fraction : float, default 0.1
        The fraction of the edges that is hidden from training, and chooses the epoch.
    threads : int, optional
        By default one per core. With ``n_jobs`` of scikit-learn, ``threads=1`` avoids that jobs disturb each other.
    memory : str or int, optional
        A limit for training and answers, such as ``"8GiB"`` or bytes; see `nigh.train`.
    progress : bool, default False
        Show a bar.
    **settings
        Every other setting of `nigh.train` about models and training, by its name.

    Attributes
    ----------
    embedding_ : array
        The vectors of all nodes, in the order of the graph's ids.
    model_ : Model
        What was trained. Its figures are those of the validation part.

    Examples
    --------
    >>> import nigh
    >>> from sklearn.linear_model import LogisticRegression
    >>> from sklearn.model_selection import cross_val_score
    >>> from sklearn.pipeline import make_pipeline
    >>> graph = nigh.Graph("communities")
    >>> pipeline = make_pipeline(nigh.Embedder(graph, model="smp-linear", epochs=40), LogisticRegression(C=100))
    >>> bool(cross_val_score(pipeline, graph.ids, graph.labels, cv=3).mean() > 0.9)
    True
    """

    @with_settings
    def __init__(
        self,
        graph: Any,
        *,
        model: str | None = None,
        epochs: int | None = None,
        learning_rate: float | None = None,
        repeats: int = 1,
        seed: int = 1,
        valid_fraction: float = 0.1,
        threads: int | None = None,
        memory: int | str | None = None,
        progress: bool = False,
        **settings: Any,
    ) -> None:
        self._store(locals(), settings)

    def fit(self, X: Any = None, y: Any = None) -> Embedder:
        """Learns the vectors of all nodes; `X` is only checked, and `y` is ignored."""
        graph = self._the_graph()
        if X is not None:
            graph._native.find(node_ids(X))
        edges = graph._native.edges()
        if len(edges) < 2:
            raise InputError(f"{count(len(edges), 'edge')}; expected two at least, one of which chooses the epoch")
        valid = self._held_out(np.zeros(len(edges)))
        self.model_ = self._train("link-prediction", graph._with(_nigh.fit_pairs(graph._native, edges, valid, edges[:0])))
        found = self.model_.embed(threads=self.threads, memory=self.memory)
        # Row i is of the graph's node i.
        self.embedding_ = np.empty(found.shape, dtype=found.vectors.dtype)
        self.embedding_[graph._native.find(found.ids)] = found.vectors
        return self

    def transform(self, X: Any) -> Array:
        """The vector of each node."""
        check_is_fitted(self)
        assert self.model_.graph is not None
        vectors: Array = self.embedding_[self.model_.graph._native.find(node_ids(X))]
        return vectors

    @property
    def _n_features_out(self) -> int:
        width: int = self.embedding_.shape[1]
        return width


# Samples --------------------------------------------------------------------------------------------------------------


def node_ids(X: Any) -> _inputs.Ids:
    """The ids of a row, of a column, or of a frame with one column."""
    if _inputs.is_table(X) and not hasattr(X, "name"):
        frame = _inputs.Columns(X, "X")
        if len(frame.names) != 1:
            raise InputError(f"X has the columns {', '.join(frame.names)}; a sample is the id of a node")
        X = frame[frame.names[0]]
    array = as_array(X)
    if array.ndim == 2 and array.shape[1] == 1:
        array = array[:, 0]
    if array.ndim != 1:
        raise InputError(f"X has the shape {array.shape}; a sample is the id of a node")
    if not len(array):
        raise InputError("X has no sample; expected ids of nodes")
    return _inputs.ids(array, "X")


def as_array(X: Any) -> Array:
    array: Array = np.asarray(X) if hasattr(X, "__array__") else _inputs.plain(X, "X")
    return array


def pair_ids(X: Any) -> tuple[_inputs.Ids, _inputs.Ids]:
    """The ids of both ends. A row is a sample, also where there are two."""
    if _inputs.is_table(X):
        columns = _inputs.table(_inputs.Columns(X, "X"), False, None, None)
        source, target = columns["source"], columns["target"]
    elif isinstance(X, (list, tuple)):
        for row, pair in enumerate(X):
            if isinstance(pair, (str, bytes)) or not hasattr(pair, "__len__") or len(pair) != 2:
                raise InputError(f"X, row {row}: {_inputs.shown(pair)} is no pair of ids")
        source, target = (_inputs.ids([pair[end] for pair in X], "X") for end in (0, 1))
    else:
        array = as_array(X)
        if array.ndim != 2 or array.shape[1] != 2:
            raise InputError(f"X has the shape {array.shape}; a sample is a pair of ids, so that X has two columns")
        source, target = _inputs.ids(array[:, 0], "X"), _inputs.ids(array[:, 1], "X")
    if not len(source):
        raise InputError("X has no sample; expected pairs of ids")
    return _inputs.alike(source, target)


def pair_places(graph: Graph, source: _inputs.Ids, target: _inputs.Ids) -> Array:
    """Both ends as places among the nodes, the smaller first."""
    places: Array = np.stack([graph._native.find(source), graph._native.find(target)], axis=1)
    same = np.flatnonzero(places[:, 0] == places[:, 1])
    if same.size:
        raise InputError(f"X, row {same[0]}: node {source[same[0]]} is paired with itself")
    places.sort(axis=1)
    return places


def select(ids: _inputs.Ids, places: Array) -> _inputs.Ids:
    if isinstance(ids, list):
        return [ids[place] for place in places.tolist()]
    chosen: Array = ids[places]
    return chosen


def targets(y: Any) -> Array:
    """Classes in a row, or a matrix of 0 and 1."""
    array: Array = np.asarray(y.toarray() if _inputs.is_sparse(y) else y)
    if array.dtype.kind == "f":
        assert_all_finite(array, input_name="y")
    check_classification_targets(array)
    if array.ndim == 2 and array.shape[1] > 1:
        if type_of_target(array) != "multilabel-indicator":
            raise InputError("y has several columns; expected 0 and 1, with a column per class")
        return array
    return np.asarray(column_or_1d(array, warn=True))


def one_hot(y: Array) -> tuple[Array, Array]:
    """The classes, and a row per sample that is true for its class."""
    classes, numbers = np.unique(y, return_inverse=True)
    return classes, numbers[:, np.newaxis] == np.arange(len(classes))


def links(y: Any, samples: int) -> tuple[Array, Array]:
    """The two classes, and which samples are links."""
    if y is None:
        return np.array([0, 1]), np.ones(samples, dtype=bool)
    y = targets(y)
    if len(y) != samples:
        raise InputError(f"X has {samples} samples, and y {len(y)}")
    classes = np.unique(y)
    if y.ndim == 2 or len(classes) > 2:
        raise InputError(f"y has {len(classes)} classes; expected 1 for a link and 0 for none")
    if len(classes) == 1:
        if classes[0] != 1:
            raise InputError(f"y has one class, {classes[0]!r}, so that there are no links to learn from; 1 is a link")
        classes = np.array([0, 1], dtype=classes.dtype)
    return classes, y == classes[1]


def distinct(graph: Graph, nodes: Array, labels: Array) -> tuple[Array, Array]:
    """Every node once, in the order of the graph, as bootstrap samples repeat some."""
    nodes, first, numbers = np.unique(nodes, return_index=True, return_inverse=True)
    differs = np.flatnonzero((labels != labels[first][numbers]).any(axis=1))
    if differs.size:
        raise InputError(f"X, row {differs[0]}: node {graph.ids[nodes[numbers[differs[0]]]]} has two different classes in y")
    return nodes, labels[first]


def keys(pairs: Array, num_nodes: int) -> Array:
    """A number per pair, whose smaller end comes first."""
    found: Array = pairs[:, 0].astype(np.int64) * num_nodes + pairs[:, 1]
    return found


def distinct_pairs(graph: Graph, pairs: Array, linked: Array) -> tuple[Array, Array]:
    """Every pair once, in the order of the graph."""
    _, first, numbers = np.unique(keys(pairs, graph.num_nodes), return_index=True, return_inverse=True)
    differs = np.flatnonzero(linked != linked[first][numbers])
    if differs.size:
        raise InputError(f"X, row {differs[0]}: the pair {name(graph, pairs[differs[0]])} is a link and none in y")
    return pairs[first], linked[first]


def with_edges(graph: Graph, positive: Array, negative: Array) -> Array:
    """The linked pairs, and all other edges of the graph after them."""
    edges = graph._native.edges()
    known = keys(edges, graph.num_nodes)
    wrong = np.flatnonzero(np.isin(keys(negative, graph.num_nodes), known))
    if wrong.size:
        raise InputError(f"the pair {name(graph, negative[wrong[0]])} is no link in y, but an edge of the graph")
    return np.concatenate([positive, edges[~np.isin(known, keys(positive, graph.num_nodes))]])


def non_edges(num_nodes: int, edges: Array, wanted: int, seed: int) -> Array:
    """So many pairs that are no edges, or all there are."""
    random, known = np.random.default_rng(seed), keys(edges, num_nodes)
    if 4 * len(known) > num_nodes * (num_nodes - 1):
        # Most pairs are edges, so that drawing would take long, and listing does not.
        free = np.setdiff1d(keys(np.stack(np.triu_indices(num_nodes, 1), axis=1), num_nodes), known)
        return split_keys(random.permutation(free)[:wanted], num_nodes)
    found = np.empty(0, dtype=np.int64)
    while len(found) < wanted:
        drawn = np.sort(random.integers(0, num_nodes, (2 * wanted, 2)), axis=1)
        drawn = keys(drawn[drawn[:, 0] < drawn[:, 1]], num_nodes)
        found = np.union1d(found, drawn[~np.isin(drawn, known)])
    return split_keys(random.permutation(found)[:wanted], num_nodes)


def split_keys(found: Array, num_nodes: int) -> Array:
    return np.stack(np.divmod(found, num_nodes), axis=1).astype(np.uint32)


def name(graph: Graph, pair: Array) -> str:
    return f"({graph.ids[pair[0]]}, {graph.ids[pair[1]]})"


def count(number: int, one: str, plural: str = "s") -> str:
    return f"{number:,} {one}{'' if number == 1 else plural}"
