"""Errors and problems have clear messages."""

import pickle

import pytest

from runfold import errors
from runfold._events.problems import MESSAGES, Code, Problem
from runfold.errors import (
    AmbiguousTag,
    BadExpression,
    BadLog,
    BadTag,
    CannotFold,
    CannotLog,
    FileChanged,
    LogdirNotFound,
    OutputExists,
    RunfoldError,
    UnknownColumn,
    UnknownFormat,
    UnknownRun,
    UnknownStatistic,
    UnknownTag,
    WriterClosed,
)

PROBLEM = Problem.of(
    "bad-payload-checksum", "/logs/seed-1/events.out.tfevents.17", offset=4096, run="seed-1"
)


@pytest.mark.parametrize(
    ("kind", "builtin"),
    [
        (LogdirNotFound, FileNotFoundError),
        (UnknownRun, KeyError),
        (UnknownTag, KeyError),
        (AmbiguousTag, LookupError),
        (UnknownStatistic, ValueError),
        (UnknownColumn, KeyError),
        (BadExpression, ValueError),
        (UnknownFormat, ValueError),
        (CannotFold, ValueError),
        (OutputExists, FileExistsError),
        (BadTag, CannotLog),
        (BadTag, TypeError),
        (WriterClosed, CannotLog),
    ],
)
def test_errors_are_caught_as_the_builtin_they_resemble(kind, builtin):
    error = kind("No such 'thing'.")
    assert isinstance(error, RunfoldError)
    assert isinstance(error, builtin)
    assert str(error) == "No such 'thing'."


def test_a_bad_log_contains_its_problem():
    error = BadLog(PROBLEM)
    assert error.problem is PROBLEM
    assert str(error) == str(PROBLEM)


def test_a_changed_file_names_the_next_step():
    assert str(FileChanged("runs/a\n")) == (
        "runs/a\\n: the file has changed since it was indexed. Read the log again"
        " (runs.refresh(), or Reload()) and retry."
    )


@pytest.mark.parametrize(
    "error", [UnknownTag("No."), OutputExists("No."), BadLog(PROBLEM), FileChanged("a")]
)
def test_errors_can_be_pickled(error):
    copy = pickle.loads(pickle.dumps(error))
    assert (type(copy), str(copy), vars(copy)) == (type(error), str(error), vars(error))


def test_every_public_error_is_in_the_documented_tree():
    raised = {
        name
        for name, value in vars(errors).items()
        if isinstance(value, type) and issubclass(value, Exception)
    }
    assert raised == set(errors.__all__)
    assert all(name in errors.__doc__ for name in errors.__all__)


def test_a_problem_shows_location_fact_and_effect():
    assert str(PROBLEM) == (
        "seed-1/events.out.tfevents.17: record at byte 4096 has a bad payload checksum. Skipped."
    )
    assert PROBLEM.code == "bad-payload-checksum"
    assert (PROBLEM.offset, PROBLEM.run) == (4096, "seed-1")


def test_the_location_of_a_problem_is_as_short_as_possible():
    def at(run):
        return Problem.of(Code.COMPRESSED, "/logs/x/tfevents\x1b", run=run).place

    assert at("x") == "x/tfevents\\x1b"
    assert at(".") == "tfevents\\x1b"
    assert at("") == "/logs/x/tfevents\\x1b"


def test_a_detail_is_escaped_and_follows_the_fact():
    problem = Problem.of(Code.TWO_KINDS, "f", detail="'a\n': scalar, image")
    assert problem.message == (
        "a tag has two kinds of data ('a\\n': scalar, image). Both were kept as separate series."
    )


@pytest.mark.parametrize("code", Code)
def test_every_code_has_a_message_with_and_without_an_offset(code):
    for offset in (None, 0):
        message = Problem.of(code, "f", offset).message
        assert message.endswith(".")
        assert "{" not in message
    assert set(MESSAGES) == set(Code)


def test_an_unknown_code_is_refused():
    with pytest.raises(ValueError, match="no-such-code"):
        Problem.of("no-such-code", "f")
