"""A pytest plugin for other packages' tests: replaces their writer and reports each test.

`peer_suites.run_both` copies this file next to those tests and passes the settings.
"""

import json
import os
from collections import Counter
from importlib import import_module
from pathlib import Path
from typing import Any

SETTINGS = json.loads(os.environ["SWAPPED_WRITER"])

# By test: the outcome with pytest's report, and the number of writers created.
_outcomes: dict[str, tuple[str, str]] = {}
_writers: Counter[str] = Counter()


def pytest_configure():
    """Put a writer that counts its instances into every module that names the class."""
    modules: list[Any] = [import_module(name) for name in SETTINGS["modules"]]
    package: Any = import_module("runfold") if SETTINGS["is_swapped"] else modules[0]

    class SummaryWriter(package.SummaryWriter):
        def __init__(self, *args, **kwargs):
            test, _, _ = os.environ["PYTEST_CURRENT_TEST"].rpartition(" ")
            _writers[test] += 1
            super().__init__(*args, **kwargs, **SETTINGS["options"])

    for module in modules:
        module.SummaryWriter = SummaryWriter


def pytest_runtest_logreport(report):
    """Keep the outcome of the test itself, or of a failed set-up or tear-down."""
    if report.when == "call" or report.outcome != "passed":
        _outcomes[report.nodeid] = report.outcome, report.longreprtext


def pytest_sessionfinish():
    """Write all results to the file named in the settings."""
    results = [
        {"test": test, "outcome": outcome, "report": report, "writers": _writers[test]}
        for test, (outcome, report) in _outcomes.items()
    ]
    Path(SETTINGS["results"]).write_text(json.dumps(results))
