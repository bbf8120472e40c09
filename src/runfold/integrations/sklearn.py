"""scikit-learn: log_search and log_estimator, which log fitted searches and estimators as runs."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from runfold._conventions import STORY_PREFIX
from runfold._humanize import escape
from runfold._log.summary.summary_writer import LOGDIR_VARIABLE
from runfold._log.track.config import as_plain
from runfold._log.track.tracker import Tracker
from runfold._storage.url import is_url
from runfold._story import story_parts
from runfold._warnings import warn_caller
from runfold.integrations._support.framework_import import importing
from runfold.integrations._support.framework_run import name_series
from runfold.integrations._support.recorded_run import RecordedRun, place_run

with importing("scikit-learn", "scikit-learn", "1.9"):
    from sklearn.base import BaseEstimator, is_classifier
    from sklearn.utils.validation import check_is_fitted

if TYPE_CHECKING:
    from collections.abc import Iterator

    from runfold._story.status import State

__all__ = ["log_estimator", "log_search"]

_SPLIT = re.compile(r"split(\d+)_(.+)")
# The attributes of fitted estimators that have one value per iteration.
_CURVES = (
    "loss_curve_",
    "validation_scores_",
    "train_score_",
    "validation_score_",
    "oob_scores_",
    "oob_improvement_",
    "estimator_weights_",
    "estimator_errors_",
    "lower_bounds_",
)
_MOST_CLASSES = 50


def log_search(
    search: Any,
    logdir: str | os.PathLike[str] | None = None,
    name: str | None = None,
    **options: Any,
) -> str:
    """Log a fitted search as a run, and each of its candidates as a run below it.

    Accepts a `GridSearchCV`, a `RandomizedSearchCV`, a halving search, and any other object with
    `cv_results_`.

    The search's run is in `<logdir>/<name>`, and tracks what `rf.track` tracks. The run's
    configuration contains the settings of the search and the best parameters. The run has the
    series `best_score`.

    The run of each candidate is in the subfolder `candidate-<number>`. Each run's hparams are the
    parameters of its candidate. The scores have scikit-learn's names: `test_score` has one point
    per split of the cross-validation; `mean_test_score`, `std_test_score`, `rank_test_score`,
    `mean_fit_time` and others have one point. In a halving search, each score has one point per
    iteration, or one per iteration and split, and `n_resources` has one point per iteration. A
    candidate has the status `failed` if all of its fits failed.

    Args:
        search: the search, after `fit`.
        logdir: the logdir. Default: `runs` or, under `runfold run`, the folder that it created.
        name: the folder of the search below `logdir`. Default: the class name of the estimator,
            such as `SVC`. If this folder already contains a run, the new run's folder gets a
            suffix: `SVC-2`.
        options: options of `rf.track` for the search's run, such as `code=False`.

    Returns:
        The folder of the search's run.

    Raises:
        ValueError: the search is not fitted, `logdir` is a URL, or an option has an invalid value.
        TypeError: the object is not a search, or an option is unknown or has the wrong type.
        OSError: the folder cannot be written to.

    Examples:
        >>> from sklearn.model_selection import GridSearchCV
        >>> from runfold.integrations.sklearn import log_search
        >>> search = GridSearchCV(SVC(), {"C": [0.1, 1, 10]}).fit(X, y)
        >>> log_search(search, "runs")
        'runs/SVC'
        >>> rf.open("runs").reduce("mean", by="C")
    """
    if logdir is not None and is_url(os.fspath(logdir)):
        raise ValueError(f"logdir: candidates need a local folder, got '{escape(str(logdir))}'")
    if not hasattr(search, "cv_results_"):
        if hasattr(search, "fit") and hasattr(search, "estimator"):
            check_is_fitted(search, "cv_results_")
        raise TypeError(f"expected a search with `cv_results_`, got {type(search).__name__}")
    results = search.cv_results_
    searched = getattr(search, "estimator", search)
    logdir, name = choose_folder(logdir, name, searched)
    with Tracker(logdir, name=name, **{"system": False, **options}) as run:
        folder = os.fspath(run.log_dir)
        _put_config(run, describe_search(search))
        _log_best(run, search)
        # In a distributed job, only rank zero logs.
        is_silent = run._event_writer.is_silent
        candidates: Iterable[RecordedRun]
        candidates = () if is_silent else read_candidates(results, time.time())
        for number, candidate in enumerate(candidates):
            place_run(os.path.join(folder, f"candidate-{number}"), candidate)
    return folder


def log_estimator(
    estimator: Any,
    logdir: str | os.PathLike[str] | None = None,
    name: str | None = None,
    *,
    metrics: Mapping[str, Any] | None = None,
    data: Mapping[str, tuple[Any, Any]] | None = None,
    **options: Any,
) -> str:
    """Log a fitted estimator as a run: its parameters, curves, and scores.

    The hparams are the parameters from `get_params()`. scikit-learn's attributes with one value
    per iteration are series, without the underscore at the end of the name, such as `loss_curve`,
    `train_score` and `validation_scores`. The step is the index of the value. For a pipeline,
    these are the attributes of its last step.

    Args:
        estimator: the estimator, after `fit`.
        logdir: the logdir, or a URL such as `s3://bucket/runs`. Default: `runs`, or the run's
            folder itself under `runfold run`.
        name: the run's folder below `logdir`. Default: the class name of the estimator. If this
            folder already contains a run, the new run's folder gets the suffix `-2`.
        metrics: numbers by tag. A list or an array is logged as a curve, and a nested mapping as
            one series per key: `tag/key`.
        data: inputs and targets by name, such as `{"test": (X_test, y_test)}`. The
            estimator's score on each of them is logged, such as `test/score`. For an estimator with
            `staged_predict`, the accuracy or R² after each stage is also logged, as the curve
            `test/staged_score`. For a classifier with at most 50 classes, an image of the confusion
            matrix is logged as `test/confusion_matrix`.
        options: options of `rf.track`, such as `code=False`.

    Returns:
        The run's folder.

    Raises:
        ValueError: the estimator is not fitted, or an option has an invalid value.
        TypeError: an option is unknown or has the wrong type.
        OSError: the folder cannot be written to.

    Examples:
        >>> from runfold.integrations.sklearn import log_estimator
        >>> model = MLPClassifier().fit(X_train, y_train)
        >>> log_estimator(model, "runs", data={"test": (X_test, y_test)})
        'runs/MLPClassifier'
    """
    check_is_fitted(estimator)
    params = estimator.get_params() if hasattr(estimator, "get_params") else {}
    options = {"system": False, **options}
    logdir, name = choose_folder(logdir, name, estimator)
    with Tracker(logdir, name=name, hparams=name_params(params), **options) as run:
        for tag, values in find_curves(estimator):
            _log_values(run, tag, values)
        for label, item in (data or {}).items():
            try:
                inputs, targets = item
                _log_scores(run, estimator, label, inputs, targets)
            except Exception as error:  # data that the estimator does not accept
                reason = escape(str(error)).rstrip(".")
                warn_caller(f"The scores on '{escape(label)}' were not logged: {reason}.")
        for tag, value in name_series(metrics or {}):
            _log_values(run, tag, value)
        return os.fspath(run.log_dir)


def choose_folder(
    logdir: str | os.PathLike[str] | None, name: str | None, estimator: Any
) -> tuple[str, str | None]:
    """Return the logdir, and the run's folder below it; None under `runfold run`."""
    if logdir is None and (folder := os.environ.get(LOGDIR_VARIABLE)):
        return folder, name
    logdir = os.fspath(logdir if logdir is not None else "runs")
    return logdir, name or type(estimator).__name__


def describe_search(search: Any) -> dict[str, Any]:
    """Return the configuration of a search's run: its settings and the best parameters."""
    params = search.get_params(deep=False) if hasattr(search, "get_params") else {}
    config: dict[str, Any] = {"search": type(search).__name__, **name_params(params)}
    if isinstance(best := getattr(search, "best_params_", None), Mapping):
        config["best_params"] = name_params(best)
    if isinstance(index := getattr(search, "best_index_", None), int | np.integer):
        config["best_index"] = int(index)
    return config


def read_candidates(results: Mapping[str, Any], now: float) -> Iterator[RecordedRun]:
    """Yield the run of each candidate in `cv_results_`, which may have one row per iteration."""
    columns = {name: np.asarray(column) for name, column in results.items() if name != "params"}
    splits = [int(match[1]) for name in columns if (match := _SPLIT.fullmatch(name))]
    count = max(splits, default=-1) + 1
    for indices in _group_rows(results):
        started = now - sum(_find_seconds(columns, index, count) for index in indices)
        hparams = name_params(results["params"][indices[0]])
        run = RecordedRun(started, now, hparams=hparams)
        is_halving = "iter" in columns
        for index in indices:
            iteration = int(columns["iter"][index]) if is_halving else 0
            for column, values in columns.items():
                if column.startswith("param_") or column == "iter":
                    continue
                if match := _SPLIT.fullmatch(column):
                    step = iteration * count + int(match[1])
                    run.add(match[2], step, now, values[index])
                else:
                    run.add(column, iteration, now, values[index])
        run.state = _find_state(run)
        if run.state == "failed":
            run.traceback = "All fits failed. scikit-learn reports the errors as warnings.\n"
        yield run


def name_params(params: Mapping[str, Any]) -> dict[str, Any]:
    """Return parameters as plain values; an estimator becomes its `repr`, with its parameters."""
    return {str(name): _describe(value) for name, value in params.items()}


def find_curves(estimator: Any) -> Iterator[tuple[str, Any]]:
    """Yield the tag and values of each attribute with one value per iteration."""
    fitted = estimator[-1] if hasattr(estimator, "named_steps") else estimator
    for attribute in _CURVES:
        try:
            values = getattr(fitted, attribute, None)
        except Exception:  # a property that depends on other parameters
            continue
        if values is not None and np.ndim(values) == 1:
            yield attribute.removesuffix("_"), values


def _describe(value: Any) -> Any:
    if isinstance(value, BaseEstimator):
        return re.sub(r"\s+", " ", repr(value))
    if isinstance(value, Mapping):
        return name_params(value)
    if isinstance(value, list | tuple):
        return [_describe(item) for item in value]
    return as_plain(value)


def _group_rows(results: Mapping[str, Any]) -> Iterable[list[int]]:
    """Return the rows of each candidate: one, or one per iteration of a halving search."""
    groups: dict[tuple[str, int], list[int]] = {}
    # A random search may draw the same parameters twice, for two candidates.
    counts: dict[tuple[str, int], int] = {}
    iterations = results.get("iter", np.zeros(len(results["params"])))
    for index, params in enumerate(results["params"]):
        key = repr(sorted(params.items(), key=str))
        in_iteration = (key, int(iterations[index]))
        counts[in_iteration] = counts.get(in_iteration, -1) + 1
        groups.setdefault((key, counts[in_iteration]), []).append(index)
    return groups.values()


def _find_seconds(columns: Mapping[str, Any], index: int, count: int) -> float:
    """Return the seconds that a candidate's fits and scores took; 0 if unknown."""
    names = ("mean_fit_time", "mean_score_time")
    seconds = sum(float(columns[name][index]) for name in names if name in columns) * count
    return seconds if np.isfinite(seconds) else 0.0


def _find_state(run: RecordedRun) -> State:
    scores = [points for tag, points in run.scalars.items() if tag.startswith("mean_test_")]
    values = [value for points in scores for _, _, value in points]
    return "failed" if values and np.isnan(values).all() else "finished"


def _log_best(run: Tracker, search: Any) -> None:
    score = getattr(search, "best_score_", None)
    if isinstance(score, int | float | np.number):
        run.add_scalar("best_score", float(score), 0)


def _log_values(run: Tracker, tag: str, values: Any) -> None:
    """Log a number, or a curve. A value that is not a number causes a warning."""
    is_curve = isinstance(values, list | tuple) or np.ndim(values) == 1
    for step, value in enumerate(values if is_curve else [values]):
        run.add_scalar(tag, value, step)


def _log_scores(run: Tracker, estimator: Any, label: str, inputs: Any, targets: Any) -> None:
    run.add_scalar(f"{label}/score", estimator.score(inputs, targets), 0)
    staged = getattr(estimator, "staged_predict", None)
    if staged is not None:
        from sklearn.metrics import accuracy_score, r2_score

        measure = accuracy_score if is_classifier(estimator) else r2_score
        scores: Iterable[Any] = (measure(targets, predicted) for predicted in staged(inputs))
        _log_values(run, f"{label}/staged_score", list(scores))
    if is_classifier(estimator) and len(getattr(estimator, "classes_", ())) <= _MOST_CLASSES:
        _log_confusion(run, f"{label}/confusion_matrix", estimator.predict(inputs), targets)


def _log_confusion(run: Tracker, tag: str, predicted: Any, targets: Any) -> None:
    from matplotlib.figure import Figure
    from sklearn.metrics import ConfusionMatrixDisplay, confusion_matrix

    labels = np.unique(np.concatenate([np.asarray(targets), np.asarray(predicted)]))
    matrix = confusion_matrix(targets, predicted, labels=labels)
    # Not `pyplot`, which keeps every figure and may need a screen.
    figure = Figure(layout="tight")
    display = ConfusionMatrixDisplay(matrix, display_labels=labels)
    display.plot(ax=figure.subplots(), colorbar=False)
    run.add_figure(tag, figure, 0)


def _put_config(run: Tracker, config: Mapping[str, Any]) -> None:
    message = story_parts.encode_story(story_parts.CONFIG, as_plain(config))
    run.add_value(STORY_PREFIX + story_parts.CONFIG, message)
