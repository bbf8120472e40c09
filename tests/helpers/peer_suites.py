"""The tests of other packages' writers, run with their own writer and with Runfold's."""

import json
import os
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

import pytest

import runfold
from helpers.checkout import ROOT

PEERS = ROOT / "build/peers"

# Reasons to exclude a test; the run itself confirms them.
MAKES_NO_WRITER = "It tests a function of the package and creates no writer."
ORIGINAL_FAILS = "The package's own writer fails it here: "

# The suites are written for older versions of their imports, which causes warnings.
_PYTEST = ["-m", "pytest", "-q", "-p", "swapped_writer", "-p", "no:warnings"]
_PYTEST += ["-p", "no:cacheprovider", "--rootdir=.", "--tb=short"]


@dataclass(frozen=True)
class Result:
    """The outcome of one test, pytest's report of a failure, and the number of writers created."""

    outcome: str
    report: str
    writers: int


@dataclass(frozen=True)
class Suite:
    """A package's tests, and how Runfold's writer replaces the package's own.

    `modules` are those that name the class SummaryWriter. Each of `parts` contains
    pytest's arguments for one process; all processes run at the same time, each in
    its own folder. Only Runfold's writer gets `options`, and only its processes get
    `environment`.
    """

    folder: Path
    modules: tuple[str, ...]
    parts: tuple[tuple[str, ...], ...]
    options: dict[str, object] = field(default_factory=dict)
    environment: dict[str, str] = field(default_factory=dict)
    conftest: str = ""


def require(folder: Path, reason: str) -> None:
    """Skip the test if its suite was not fetched; if the variable CI is set, fail instead."""
    if not folder.is_dir():
        (pytest.fail if os.environ.get("CI") else pytest.skip)(reason)


def run_both(suite: Suite, folder: Path) -> tuple[dict[str, Result], dict[str, Result]]:
    """Return the results by `Class::test`, with the original writer and with Runfold's."""
    runs = [(is_swapped, part) for is_swapped in (False, True) for part in suite.parts]
    folders = [folder / str(number) for number in range(len(runs))]
    original: dict[str, Result] = {}
    ours: dict[str, Result] = {}
    with ThreadPoolExecutor(len(runs)) as pool:
        parts = pool.map(
            lambda run, folder: _run_part(suite, run[0], run[1], folder), runs, folders
        )
        for (is_swapped, _), results in zip(runs, parts, strict=True):
            (ours if is_swapped else original).update(results)
    return original, ours


def check(
    original: dict[str, Result],
    ours: dict[str, Result],
    passing: set[str],
    excluded: dict[str, str],
) -> None:
    """Assert that Runfold's writer passes every test that is not excluded.

    Another version of a suite may have tests that are in neither list. Such a test
    must pass if it creates a writer and passes with the original one. The reasons
    for exclusions are checked where the results can confirm them.
    """
    more = {
        test
        for test, result in original.items()
        if result.writers and result.outcome == "passed" and test not in excluded
    }
    failed = {test: ours[test] for test in passing | more if ours[test].outcome != "passed"}
    assert not failed, "\n".join(f"{test}\n{result.report}" for test, result in failed.items())
    assert all(ours[test].writers for test in passing)
    for test in excluded.keys() & ours.keys():
        if excluded[test] == MAKES_NO_WRITER:
            assert original[test].writers == ours[test].writers == 0, test
        elif excluded[test].startswith(ORIGINAL_FAILS):
            assert original[test].outcome != "passed", test


def _run_part(
    suite: Suite, is_swapped: bool, arguments: tuple[str, ...], folder: Path
) -> dict[str, Result]:
    shutil.copytree(suite.folder, folder / suite.folder.name)
    shutil.copy(Path(__file__).with_name("swapped_writer.py"), folder)
    (folder / "conftest.py").write_text(suite.conftest)
    settings = {
        "modules": suite.modules,
        "is_swapped": is_swapped,
        "options": suite.options if is_swapped else {},
        "results": "results.json",
    }
    done = subprocess.run(
        [sys.executable, *_PYTEST, *arguments],
        cwd=folder,
        env={
            **os.environ,
            **(suite.environment if is_swapped else {}),
            "SWAPPED_WRITER": json.dumps(settings),
            "PYTHONPATH": str(Path(runfold.__file__).parents[1]),
        },
        capture_output=True,
        text=True,
        timeout=900,
        check=False,
    )
    # 1 means that some tests failed; higher codes mean that pytest could not run the tests.
    assert done.returncode in (0, 1), done.stdout + done.stderr
    results = json.loads((folder / "results.json").read_text())
    # Without the file name, because no two files have the same class and test.
    return {result.pop("test").partition("::")[2]: Result(**result) for result in results}
