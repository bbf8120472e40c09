"""scikit-learn with log_search and log_estimator: all searches and estimators the tests read."""

import json
import os
import signal
import subprocess
import sys
import warnings

import numpy as np
from sklearn.datasets import make_classification
from sklearn.ensemble import GradientBoostingClassifier, GradientBoostingRegressor
from sklearn.experimental import enable_halving_search_cv  # noqa: F401
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, HalvingGridSearchCV, RandomizedSearchCV
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from runfold.integrations.sklearn import log_estimator, log_search

OPTIONS = {"code": False}
X, Y = make_classification(120, 6, random_state=0)


def save(name, value):
    with open(f"{name}.json", "w") as file:
        json.dump(value, file, default=lambda item: item.tolist())


def log_searches():
    grid = {"C": [0.1, 1.0], "tol": [1e-4, 1e-2]}
    search = GridSearchCV(LogisticRegression(), grid, cv=3, return_train_score=True).fit(X, Y)
    folders = [log_search(search, "logs", "grid", **OPTIONS)]
    folders += [log_search(search, "logs", **OPTIONS) for _ in range(2)]
    results = {key: value for key, value in search.cv_results_.items() if "param" not in key}
    save("grid", {"folders": folders, "params": search.cv_results_["params"], "results": results})

    steps = [LogisticRegression(), GradientBoostingClassifier(n_estimators=2)]
    pipeline = make_pipeline(StandardScaler(), LogisticRegression())
    search = GridSearchCV(
        pipeline, {"logisticregression": steps}, cv=2, scoring=["accuracy", "f1"], refit="f1"
    )
    log_search(search.fit(X, Y), "logs", "pipeline", **OPTIONS)

    search = HalvingGridSearchCV(
        LogisticRegression(), {"C": [0.01, 0.1, 1.0, 10.0]}, cv=2, random_state=0
    ).fit(X, Y)
    log_search(search, "logs", "halving", **OPTIONS)
    halving = ("iter", "n_resources", "mean_test_score", "split0_test_score", "split1_test_score")
    save("halving", {key: search.cv_results_[key] for key in (*halving, "params")})

    # The distribution has one value, so the two candidates have the same parameters.
    class Constant:
        def rvs(self, random_state=None):
            return 1.0

    search = RandomizedSearchCV(LogisticRegression(), {"C": Constant()}, n_iter=2, cv=2)
    log_search(search.fit(X, Y), "logs", "random", **OPTIONS)

    search = GridSearchCV(LogisticRegression(), {"C": [1.0, -1.0]}, cv=2)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        search.fit(X, Y)
    log_search(search, "logs", "failing", **OPTIONS)


def log_estimators():
    network = MLPClassifier((4,), max_iter=6, early_stopping=True, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        network.fit(X, Y)
    metrics = {"f1": np.float32(0.5), "per_class": {"a": [0.25, 0.75]}, "text": "bad", "none": None}
    log_estimator(network, "logs", "mlp", data={"test": (X, Y)}, metrics=metrics, **OPTIONS)
    save("mlp", {"loss": network.loss_curve_, "validation": network.validation_scores_})

    boosting = GradientBoostingClassifier(n_estimators=3, subsample=0.5).fit(X, Y)
    data = {"train": (X, Y), "bad": (X[:, :2], Y), "none": None}
    log_estimator(boosting, "logs", "boosting", data=data, **OPTIONS)
    staged = [float(np.mean(predicted == Y)) for predicted in boosting.staged_predict(X)]
    save("boosting", {"train": boosting.train_score_, "staged": staged})

    regressor = GradientBoostingRegressor(n_estimators=2).fit(X, Y)
    pipeline = make_pipeline(StandardScaler(), regressor).fit(X, Y)
    log_estimator(pipeline, "logs", "regressor", data={"test": (X, Y)}, **OPTIONS)

    refusals = []
    for call in (
        lambda: log_search(GridSearchCV(LogisticRegression(), {"C": [1.0]}), "logs", "unfitted"),
        lambda: log_estimator(LogisticRegression(), "logs", "unfitted"),
        lambda: log_search(regressor, "logs", "unfitted"),
        lambda: log_search(regressor, "s3://bucket/logs"),
    ):
        try:
            call()
        except (TypeError, ValueError) as error:
            refusals.append(f"{type(error).__name__}: {error}")
    save("refusals", refusals)


def log_killed():
    """Kill this process after two of four candidates have been written."""
    import runfold.integrations.sklearn as adapter

    write = adapter.place_run

    def write_two(folder, run):
        if folder.endswith("candidate-2"):
            os.kill(os.getpid(), signal.SIGKILL)
        return write(folder, run)

    adapter.place_run = write_two
    search = GridSearchCV(LogisticRegression(), {"C": [0.1, 1, 10, 100]}, cv=2).fit(X, Y)
    log_search(search, "logs", "killed", **OPTIONS)


def main():
    ended = subprocess.run([sys.executable, __file__, "killed"], check=False)
    assert ended.returncode == -signal.SIGKILL
    log_searches()
    log_estimators()


if __name__ == "__main__":
    if sys.argv[1:] == ["killed"]:
        log_killed()
    else:
        main()
