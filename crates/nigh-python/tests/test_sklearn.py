"""The estimators in the hands of scikit-learn, and that nothing held out reaches their training."""

from __future__ import annotations

import pickle
from functools import cache
from typing import Any
from unittest import mock

import numpy as np
import pytest

pytest.importorskip("sklearn")

from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.ensemble import BaggingClassifier
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import GridSearchCV, StratifiedKFold, cross_val_score, train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.utils import estimator_checks
from joblib import parallel_backend

import nigh
from nigh import Embedder, LinkPredictor, NodeClassifier

FAST: dict[str, Any] = {"model": "smp-linear", "epochs": 30, "threads": 1}


@cache
def communities() -> nigh.Graph:
    return nigh.Graph("communities")


@cache
def pairs() -> tuple[np.ndarray, np.ndarray]:
    """The edges of the communities, and as many pairs between different ones."""
    graph = communities()
    linked, random = graph.edge_index.T.astype(int), np.random.default_rng(1)
    others = np.unique(np.sort(random.integers(0, graph.num_nodes, (3 * len(linked), 2)), axis=1), axis=0)
    others = others[graph.labels[others[:, 0]] != graph.labels[others[:, 1]]]
    others = random.permutation(others)[: len(linked)]
    edges = {tuple(edge) for edge in linked.tolist()}
    others = np.array([pair for pair in others.tolist() if tuple(pair) not in edges])
    order = random.permutation(len(linked) + len(others))
    return np.concatenate([linked, others])[order], np.repeat([1, 0], [len(linked), len(others)])[order]


def estimators() -> list[Any]:
    graph = communities()
    return [NodeClassifier(graph, **FAST), LinkPredictor(graph, **FAST), Embedder(graph, **FAST)]


# Nodes ----------------------------------------------------------------------------------------------------------------


def test_classes_of_held_out_nodes_are_found() -> None:
    graph = communities()
    train, test, y, expected = train_test_split(graph.ids, graph.labels, stratify=graph.labels, random_state=1)
    classifier = NodeClassifier(graph, **FAST).fit(train, y)
    assert classifier.score(test, expected) > 0.95
    found = classifier.predict_proba(test)
    assert found.shape == (len(test), 20) and np.allclose(found.sum(axis=1), 1, atol=1e-12)
    assert (classifier.classes_[found.argmax(axis=1)] == classifier.predict(test)).all()
    # A column of ids, a list and a frame are the same samples.
    pandas = pytest.importorskip("pandas")
    for same in (test[:, np.newaxis], test.tolist(), pandas.DataFrame({"node": test}), pandas.Series(test)):
        assert (classifier.predict_proba(same) == found).all()


def test_classes_keep_their_names_and_columns_their_order() -> None:
    graph = communities()
    names = np.array([f"c{20 - label:02}" for label in graph.labels])
    classifier = NodeClassifier(graph, **FAST).fit(graph.ids, names)
    assert classifier.classes_.tolist() == sorted(set(names.tolist()))
    assert (classifier.predict(graph.ids) == names).mean() > 0.95
    assert classifier.model_.class_names == classifier.classes_.tolist()


@pytest.mark.parametrize("model", ["smp-linear", "smp-gated"])
def test_held_out_labels_in_the_graph_never_reach_training(model: str) -> None:
    graph = communities()
    edges, labels = graph.edge_index, graph.labels
    train, test = train_test_split(np.arange(400), random_state=1)
    planted = labels.copy()
    planted[test] = (planted[test] + 7) % 20
    found = []
    for known in (labels, planted, None):
        classifier = NodeClassifier(nigh.Graph(edges, labels=known), model=model, epochs=10)
        found.append(classifier.fit(train, labels[train]).predict_proba(test))
    assert (found[0] == found[1]).all() and (found[0] == found[2]).all()
    # The same plant in what is fitted does change it.
    both = np.concatenate([train, test])
    other = NodeClassifier(graph, model=model, epochs=10).fit(both, planted[both])
    assert (other.predict_proba(test) != found[0]).any()


def test_every_label_that_was_given_is_learnt_from_or_chooses_the_epoch() -> None:
    graph = communities()
    classifier = NodeClassifier(graph, **FAST, valid_fraction=0.25).fit(graph.ids, graph.labels)
    assert classifier.model_.graph._native.num_labelled == 400
    run = classifier.model_.summary["repeats"][0]
    assert run["test"] == run["valid"]


def test_nodes_with_several_labels() -> None:
    graph = communities()
    y = np.stack([graph.labels < 10, graph.labels % 2 == 0, graph.labels >= 5], axis=1).astype(int)
    train, test = train_test_split(np.arange(400), random_state=1)
    classifier = NodeClassifier(graph, model="smp-linear", epochs=200).fit(train, y[train])
    assert classifier.predict_proba(test).shape == classifier.predict(test).shape == (len(test), 3)
    assert classifier.classes_.tolist() == [0, 1, 2]
    assert roc_auc_score(y[test], classifier.predict_proba(test)) > 0.9
    assert ((classifier.predict_proba(test) >= 0.5) == classifier.predict(test)).all()
    # Of all three labels at once.
    assert 0.4 < classifier.score(test, y[test]) < 1


def test_bootstrap_samples_repeat_nodes() -> None:
    graph = communities()
    bagging = BaggingClassifier(NodeClassifier(graph, **FAST), n_estimators=2, random_state=1)
    # It hands on columns.
    assert bagging.fit(graph.ids[:, np.newaxis], graph.labels).score(graph.ids[:, np.newaxis], graph.labels) > 0.8
    with pytest.raises(ValueError, match="row 2: node 5 has two different classes in y"):
        NodeClassifier(graph).fit([5, 6, 5], [0, 1, 1])


@pytest.mark.parametrize(
    ("X", "y", "message"),
    [
        ([0, 1], None, "requires y"),
        ([0, 1, 2], [0, 1], "inconsistent numbers of samples"),
        ([0, 1, 400], [0, 1, 1], "400"),
        ([[0, 1], [2, 3]], [0, 1], "a sample is the id of a node"),
        ([], [], "no sample"),
        ([0, 1, 2], [1, 1, 1], "3 labelled nodes of 1 class; expected two at least"),
        ([0, 1], [0, 1], "every class has one node"),
        ([0, 1, 2], [0.5, 1.5, 2.25], "Unknown label type"),
        ([0, 1, 2], [0.0, 1.0, np.nan], "NaN"),
        ([0.5, 1, 2], [0, 1, 1], "0.5 is no id"),
        ([0, 1], [[0, 2], [1, 3]], "expected 0 and 1, with a column per class"),
    ],
)
def test_what_is_wrong_with_nodes_is_told(X: Any, y: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        NodeClassifier(communities()).fit(X, y)


# Pairs ----------------------------------------------------------------------------------------------------------------


def test_held_out_links_are_found() -> None:
    X, y = pairs()
    train, test, known, expected = train_test_split(X, y, random_state=1)
    predictor = LinkPredictor(communities(), **FAST).fit(train, known)
    scores, found = predictor.decision_function(test), predictor.predict_proba(test)
    assert roc_auc_score(expected, scores) > 0.95 and roc_auc_score(expected, found[:, 1]) > 0.95
    assert predictor.score(test, expected) > 0.9
    # A pair has no direction.
    assert (predictor.decision_function(test[:, ::-1]) == scores).all()
    pandas = pytest.importorskip("pandas")
    for same in (test.tolist(), pandas.DataFrame(test, columns=["source", "target"])):
        assert (predictor.decision_function(same) == scores).all()
    # Two samples are two rows, and not the columns of PyG.
    assert (predictor.decision_function(test[:2]) == scores[:2]).all()


def test_held_out_pairs_in_the_graph_never_reach_training() -> None:
    X, y = pairs()
    train, test, known, _ = train_test_split(X, y, random_state=1)
    linked = train[known == 1]
    found = []
    for edges in (linked, np.concatenate([test, linked]), X[y == 1]):
        graph = nigh.Graph(edges, nodes=400)
        predictor = LinkPredictor(graph, **FAST).fit(train, known)
        found.append((predictor.predict_proba(test), predictor.model_.embed().vectors))
    for other in found[1:]:
        assert (other[0] == found[0][0]).all() and (other[1] == found[0][1]).all()
    # Where the edges of the graph are to be seen, the same plant does change it.
    planted = nigh.Graph(np.concatenate([test[:50], linked]), nodes=400)
    leaky = LinkPredictor(planted, edges="graph", **FAST).fit(train[known == 1])
    bare = LinkPredictor(planted, **FAST).fit(train[known == 1])
    assert (leaky.model_.embed().vectors != bare.model_.embed().vectors).any()


def test_edges_of_the_graph_are_seen_on_demand_and_asking_for_them_is_noted() -> None:
    X, y = pairs()
    train, test, known, expected = train_test_split(X, y, test_size=0.8, random_state=1)
    context = nigh.Graph(test[expected == 1][:2000], nodes=400)
    rest = np.concatenate([test[expected == 1][2000:], test[expected == 0]])
    truth = np.repeat([1, 0], [len(test[expected == 1]) - 2000, (expected == 0).sum()])
    few = LinkPredictor(context, **FAST).fit(train, known)
    more = LinkPredictor(context, edges="graph", **FAST).fit(train, known)
    assert more.model_.graph.num_edges == few.model_.graph.num_edges + 2000
    assert roc_auc_score(truth, more.decision_function(rest)) > roc_auc_score(truth, few.decision_function(rest))
    with pytest.warns(nigh.Note, match="2,000 pairs of .* message passing sees the edge"):
        more.decision_function(test)
    with pytest.raises(ValueError, match="is no link in y, but an edge of the graph"):
        LinkPredictor(context, edges="graph").fit(test, 1 - expected)
    with pytest.raises(ValueError, match="expected 'fit' or 'graph'"):
        LinkPredictor(context, edges="all").fit(train, known)


def test_probabilities_follow_the_share_of_links_that_was_given() -> None:
    X, y = pairs()
    few = np.flatnonzero((y == 0) | (np.cumsum(y) <= y.sum() // 4))
    train, test = train_test_split(few, random_state=1)
    found = LinkPredictor(communities(), **FAST).fit(X[train], y[train]).predict_proba(X[test])[:, 1]
    assert abs(found.mean() - y[test].mean()) < 0.1
    # Without negatives, they are drawn: as many.
    only = LinkPredictor(communities(), **FAST).fit(X[train][y[train] == 1])
    assert only.classes_.tolist() == [0, 1]
    assert roc_auc_score(y[test], only.predict_proba(X[test])[:, 1]) > 0.8


def test_links_may_have_other_names_and_weights_are_kept() -> None:
    X, y = pairs()
    graph = communities()
    weighted = nigh.Graph(graph.edge_index, weight=np.linspace(1, 3, graph.num_edges))
    named = np.where(y == 1, "yes", "no")
    predictor = LinkPredictor(weighted, **FAST).fit(X, named)
    assert predictor.classes_.tolist() == ["no", "yes"]
    assert (predictor.predict(X) == named).mean() > 0.9
    assert predictor.model_.graph.digest == weighted.digest


def test_untrained_scores_serve_as_well() -> None:
    X, y = pairs()
    assert cross_val_score(LinkPredictor(communities(), model="katz"), X, y, cv=3, scoring="roc_auc").min() > 0.9


@pytest.mark.parametrize(
    ("X", "y", "message"),
    [
        ([0, 1], [0, 1], "row 0: 0 is no pair of ids"),
        (np.zeros((3, 3), dtype=int), [0, 1, 1], "two columns"),
        ([(0, 1), (2, 2), (3, 4)], [1, 1, 0], "row 1: node 2 is paired with itself"),
        ([(0, 1), (1, 0), (3, 4)], [1, 0, 0], r"row 1: the pair \(0, 1\) is a link and none in y"),
        ([(0, 1), (1, 2)], [0, 0], "no links to learn from; 1 is a link"),
        ([(0, 1), (1, 2)], [1, 0], "1 linked pair; expected two at least"),
        ([(0, 1), (1, 2), (2, 3)], [0, 1, 2], "y has 3 classes"),
        ([(0, 1), (1, 2)], [1, 1, 1], "X has 2 samples, and y 3"),
        ([(0, 1), (1, 999)], [1, 1], "999"),
        (np.empty((0, 2), dtype=int), [], "no sample"),
    ],
)
def test_what_is_wrong_with_pairs_is_told(X: Any, y: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        LinkPredictor(communities()).fit(X, y)


def test_a_complete_graph_has_nothing_to_tell_links_from() -> None:
    every = np.stack(np.triu_indices(6, 1), axis=1)
    with pytest.raises(ValueError, match="all pairs of nodes are linked"):
        LinkPredictor(nigh.Graph(every)).fit(every)
    # With one pair missing, it is the one.
    assert LinkPredictor(nigh.Graph(every), **FAST).fit(every[1:]).classes_.tolist() == [0, 1]


# Vectors --------------------------------------------------------------------------------------------------------------


def test_vectors_serve_a_classifier_in_a_pipeline() -> None:
    graph = communities()
    pipeline = make_pipeline(Embedder(graph, **FAST), LogisticRegression(C=100))
    assert cross_val_score(pipeline, graph.ids, graph.labels, cv=3).min() > 0.9


def test_vectors_have_names_and_are_those_of_the_model() -> None:
    pandas = pytest.importorskip("pandas")
    ids = [f"n{node:03}" for node in range(400)]
    edges = communities().edge_index
    graph = nigh.Graph([(ids[a], ids[b]) for a, b in edges.T.tolist()])
    embedder = Embedder(graph, **FAST)
    found = embedder.fit_transform(ids)
    assert found.shape == (400, 32)
    of_model = embedder.model_.embed()
    assert (found[[ids.index(id) for id in of_model.ids]] == of_model.vectors).all()
    assert embedder.get_feature_names_out().tolist() == [f"embedder{column}" for column in range(32)]
    frame = embedder.set_output(transform="pandas").transform(pandas.Series(["n007", "n003"], index=["x", "y"]))
    assert frame.index.tolist() == ["x", "y"] and (frame.to_numpy() == found[[7, 3]]).all()
    with pytest.raises(ValueError, match="n400"):
        embedder.transform(["n400"])


def test_vectors_know_no_labels() -> None:
    graph = communities()
    bare = nigh.Graph(graph.edge_index, nodes=400)
    assert (Embedder(graph, **FAST).fit(y=graph.labels).embedding_ == Embedder(bare, **FAST).fit().embedding_).all()


# What scikit-learn does with them -------------------------------------------------------------------------------------


@pytest.mark.parametrize("estimator", estimators(), ids=lambda estimator: type(estimator).__name__)
def test_parameters_are_those_of_the_constructor_and_all_settings(estimator: Any) -> None:
    given = estimator.get_params()
    assert given["model"] == "smp-linear" and given["repeats"] == 1 and given["dropout"] is None
    assert {"learning_rate", "hops", "signal_dim", "patience"} <= given.keys()
    assert not {"task", "split", "test_fraction"} & given.keys()
    copy = clone(estimator).set_params(dropout=0.25, learning_rate=0.1)
    assert copy.graph is estimator.graph
    assert (copy.dropout, copy.learning_rate, estimator.dropout) == (0.25, 0.1, None)
    assert "dropout=0.25" in repr(copy) and "hops" not in repr(copy)
    with pytest.raises(ValueError, match="Invalid parameter 'drop'"):
        estimator.set_params(drop=1)
    with pytest.raises(TypeError, match="has no parameter 'drop_out'; did you mean 'dropout'"):
        type(estimator)(estimator.graph, drop_out=0.5)


def test_settings_reach_the_training() -> None:
    graph = communities()
    classifier = NodeClassifier(graph, model="smp-linear", epochs=3, hops=1, learning_rate=0.5, seed=9)
    used = classifier.fit(graph.ids, graph.labels).model_.settings
    assert (used["epochs"], used["hops"], used["learning_rate"], used["seed"]) == (3, 1, 0.5, 9)
    with pytest.raises(ValueError, match="dropout"):
        clone(classifier).set_params(dropout=2).fit(graph.ids, graph.labels)
    with pytest.raises(ValueError, match="`valid_fraction` is 1.5"):
        clone(classifier).set_params(valid_fraction=1.5).fit(graph.ids, graph.labels)


@pytest.mark.parametrize("estimator", estimators(), ids=lambda estimator: type(estimator).__name__)
def test_pickled_estimators_answer_the_same(estimator: Any) -> None:
    X, y = pairs() if isinstance(estimator, LinkPredictor) else (communities().ids, communities().labels)
    restored = pickle.loads(pickle.dumps(clone(estimator)))
    answers = []
    for fitted in (clone(estimator).fit(X, y), restored.fit(X, y), pickle.loads(pickle.dumps(restored))):
        answers.append(fitted.transform(X) if isinstance(fitted, Embedder) else fitted.predict_proba(X))
    assert (answers[0] == answers[1]).all() and (answers[0] == answers[2]).all()


@pytest.mark.parametrize("estimator", estimators(), ids=lambda estimator: type(estimator).__name__)
def test_fits_do_not_depend_on_the_order_of_samples_or_on_threads(estimator: Any) -> None:
    X, y = pairs() if isinstance(estimator, LinkPredictor) else (communities().ids, communities().labels)
    order = np.random.default_rng(1).permutation(len(X))
    answers = []
    for threads, at in ((1, slice(None)), (2, order)):
        fitted = clone(estimator).set_params(threads=threads).fit(X[at], y[at])
        answers.append(fitted.transform(X) if isinstance(fitted, Embedder) else fitted.predict_proba(X))
    assert (answers[0] == answers[1]).all()


def test_cross_validated_links_are_hidden_from_their_fold() -> None:
    X, y = pairs()
    folds = StratifiedKFold(3, shuffle=True, random_state=1)

    def auc(graph: nigh.Graph, y: np.ndarray, **settings: Any) -> float:
        predictor = LinkPredictor(graph, **FAST, hops=1, **settings)
        return float(cross_val_score(predictor, X, y, cv=folds, scoring="roc_auc").mean())

    assert auc(communities(), y) > 0.95
    # Links at random can't be predicted, unless message passing sees those that are to be predicted.
    chance = np.random.default_rng(1).permutation(y)
    graph = nigh.Graph(X[chance == 1], nodes=400)
    assert abs(auc(graph, chance) - 0.5) < 0.03
    with pytest.warns(nigh.Note, match="message passing sees the edge"):
        assert auc(graph, chance, edges="graph") > 0.55


@pytest.mark.parametrize("backend", ["loky", "threading"])
def test_grid_search_runs_in_parallel_and_finds_the_same(backend: str) -> None:
    graph = communities()
    grid = {"model": ["smp-linear", "sgc"], "epochs": [2, 20], "learning_rate": [0.01]}
    search = GridSearchCV(NodeClassifier(graph, threads=1), grid, cv=2, n_jobs=2)
    with parallel_backend(backend):
        search.fit(graph.ids, graph.labels)
    # Without features, sgc can't tell nodes apart.
    assert search.best_params_["model"] == "smp-linear" and search.best_score_ > 0.8
    alone = GridSearchCV(NodeClassifier(graph, threads=2), grid, cv=2).fit(graph.ids, graph.labels)
    assert (alone.cv_results_["mean_test_score"] == search.cv_results_["mean_test_score"]).all()


def test_grid_search_over_pairs_and_pipelines() -> None:
    X, y = pairs()
    search = GridSearchCV(LinkPredictor(communities(), **FAST), {"hops": [1, 2]}, cv=2, n_jobs=2, scoring="roc_auc")
    assert search.fit(X[:3000], y[:3000]).best_score_ > 0.7
    graph = communities()
    pipeline = make_pipeline(Embedder(graph, **FAST), LogisticRegression())
    search = GridSearchCV(pipeline, {"embedder__hops": [1, 2], "logisticregression__C": [1, 100]}, cv=2)
    assert search.fit(graph.ids, graph.labels).best_score_ > 0.8


@pytest.mark.parametrize("estimator", estimators()[:2], ids=lambda estimator: type(estimator).__name__)
def test_probabilities_can_be_calibrated(estimator: Any) -> None:
    X, y = pairs() if isinstance(estimator, LinkPredictor) else (communities().ids, communities().labels)
    calibrated = CalibratedClassifierCV(estimator, cv=2).fit(X, y)
    assert calibrated.score(X, y) > 0.9
    assert np.allclose(calibrated.predict_proba(X).sum(axis=1), 1)


def test_an_estimator_that_was_not_fitted_says_so() -> None:
    classifier, predictor, embedder = estimators()
    for ask in (lambda: classifier.predict([1]), lambda: predictor.predict([(1, 2)]), lambda: embedder.transform([1])):
        with pytest.raises(NotFittedError):
            ask()


# The checks of scikit-learn -------------------------------------------------------------------------------------------


class TakesMatrix:
    """Says that it takes a matrix, since scikit-learn checks nothing else."""

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = True
        return tags


class CheckedClassifier(TakesMatrix, NodeClassifier):
    pass


class CheckedPredictor(TakesMatrix, LinkPredictor):
    pass


class CheckedEmbedder(TakesMatrix, Embedder):
    pass


#: What does not apply, and why.
FEATURES = "X holds ids, of which there is one number of columns, and not features"
CLASSES = "y is made of the numbers in X, so that every node is a class of its own"
DO_NOT_APPLY = {
    "check_array_api_input": FEATURES,
    "check_classifiers_train": "it expects blobs of features to be learnt, of which ids know nothing",
    "check_complex_data": FEATURES,
    "check_estimator_sparse_array": FEATURES,
    "check_estimator_sparse_matrix": FEATURES,
    "check_estimators_empty_data_messages": FEATURES,
    "check_estimators_nan_inf": "X is replaced by ids; that NaN is no id is tested above",
    "check_fit2d_predict1d": "a row of ids is as good as a column",
    "check_n_features_in": FEATURES,
    "check_n_features_in_after_fitting": FEATURES,
    "check_positive_only_tag_during_fit": FEATURES,
    "check_transformer_preserve_dtypes": "vectors are float32, whatever the type of the ids",
    "check_classifiers_multilabel_output_format_decision_function": "there is no decision function of classes",
}
NOT_FOR_CLASSIFIER = {
    "check_dict_unchanged": CLASSES,
    "check_dont_overwrite_parameters": CLASSES,
    "check_f_contiguous_array_estimator": CLASSES,
    "check_fit2d_1feature": CLASSES,
    "check_methods_sample_order_invariance": CLASSES,
    "check_methods_subset_invariance": CLASSES,
}
NOT_FOR_PREDICTOR = {
    "check_classifier_not_supporting_multiclass": FEATURES,
    "check_classifiers_one_label": "links alone are told from pairs that are drawn, so that there are two classes",
    "check_decision_proba_consistency": FEATURES,
    "check_estimator_sparse_tag": FEATURES,
}


def as_ids(estimator: Any, X: Any, X_test: Any = None, kernel: Any = None) -> Any:
    """Samples of the graph, in the place of the features that a check makes up."""
    nodes = np.arange(len(X))
    pairs = np.stack([nodes % 200, 200 + nodes % 200], axis=1)
    found = pairs if isinstance(estimator, LinkPredictor) else nodes[:, np.newaxis]
    return found if X_test is None else (found, found[: len(X_test)])


def checks() -> list[Any]:
    graph, few = communities(), {**FAST, "epochs": 2}
    found = []
    beside = {CheckedClassifier: NOT_FOR_CLASSIFIER, CheckedPredictor: NOT_FOR_PREDICTOR, CheckedEmbedder: {}}
    for kind in beside:
        for estimator, check in estimator_checks.estimator_checks_generator(kind(graph, **few)):
            name = check.func.__name__
            reason = DO_NOT_APPLY.get(name) or beside[kind].get(name)
            marks = [] if reason is None else [pytest.mark.skip(reason=reason)]
            found.append(pytest.param(estimator, check, id=f"{kind.__name__[7:]}-{name}", marks=marks))
    return found


@pytest.mark.parametrize(("estimator", "check"), checks())
def test_checks_of_scikit_learn(estimator: Any, check: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(estimator_checks, "_enforce_estimator_tags_X", as_ids)
    check(estimator)


# What is held out to choose the epoch ---------------------------------------------------------------------------------


def test_other_seeds_hold_out_others_and_never_all_of_a_class() -> None:
    classes = np.repeat([0, 1, 2], [60, 30, 2])
    found = [NodeClassifier(communities(), seed=seed, valid_fraction=0.2)._held_out(classes) for seed in (1, 1, 2)]
    assert (found[0] == found[1]).all() and (found[0] != found[2]).any()
    assert [found[0][classes == kind].sum() for kind in range(3)] == [12, 6, 0]
    most = NodeClassifier(communities(), valid_fraction=0.95)._held_out(classes)
    assert [most[classes == kind].sum() for kind in range(3)] == [57, 28, 1]


def test_probabilities_are_fitted_while_the_pairs_that_they_are_fitted_to_are_hidden(monkeypatch: pytest.MonkeyPatch) -> None:
    X, y = pairs()
    given: list[Any] = []
    monkeypatch.setattr(LinkPredictor, "_calibrate", lambda _, *arguments: given.extend(arguments))
    LinkPredictor(communities(), **FAST).fit(X, y)
    seen, judged, linked, _ = given
    keys = nigh._estimators.keys
    assert linked.sum() == round(0.1 * y.sum()) and len(seen) == y.sum() - linked.sum()
    assert not np.isin(keys(judged, 400), keys(seen, 400)).any()


@pytest.mark.parametrize("wanted", [5, 200])
def test_pairs_that_are_drawn_are_no_edges(wanted: int) -> None:
    edges = np.stack(np.triu_indices(30, 1), axis=1)
    # A fifth of the pairs are edges, and then half of them.
    for some in (edges[::5], edges[::2]):
        keys = nigh._estimators.keys
        drawn = nigh._estimators.non_edges(30, some, wanted, seed=1)
        assert len(np.unique(keys(drawn, 30))) == wanted
        assert (drawn[:, 0] < drawn[:, 1]).all() and not np.isin(keys(drawn, 30), keys(some, 30)).any()


def test_vectors_are_those_of_their_nodes_in_any_order() -> None:
    turned = nigh.Graph(communities().edge_index, nodes=communities().ids[::-1].copy())
    embedder = Embedder(turned, **FAST).fit()
    found = embedder.model_.embed()
    assert (embedder.transform(found.ids) == found.vectors).all()
