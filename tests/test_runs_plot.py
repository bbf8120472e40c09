"""`runs.plot`: fold and draw in one call, with the command's defaults."""

import inspect
import warnings
from pathlib import Path

import pytest
from helpers.logs import scalars, write

import runfold as rf
from runfold._cli.fold_options import _alignment
from runfold._cli.parser import load, parser_of
from runfold.errors import CannotFold


@pytest.fixture
def runs(tmp_path: Path) -> rf.Runs:
    """Return three runs with different steps and tags, and one step logged twice."""
    write(tmp_path / "a" / "0", scalars("loss", (0, 4.0), (10, 2.0)), scalars("lr", (0, 1.0)))
    write(tmp_path / "a" / "1", scalars("loss", (0, 6.0), (5, 4.0), (10, 2.0)))
    write(tmp_path / "b" / "0", scalars("loss", (0, 1.0), (5, 3.0), (5, 2.0), (10, 1.0)))
    return rf.open(tmp_path)


def test_mismatched_runs_are_drawn_and_each_choice_is_a_warning(runs: rf.Runs) -> None:
    with pytest.raises(CannotFold):
        runs.reduce()
    with pytest.warns(UserWarning, match=".") as caught:
        figure = runs.plot(by="parent")
    assert [ax.get_ylabel() for ax in figure.axes] == ["loss", "lr"]
    first, second = figure.axes[0].lines[:2]
    assert first.get_xydata().tolist() == [[0, 5], [5, 3.5], [10, 2]]
    assert second.get_xydata().tolist() == [[0, 1], [5, 2], [10, 1]]
    assert {warning.filename for warning in caught} == {__file__}
    notes = [str(warning.message) for warning in caught]
    assert notes[0] == "Left out: 1 duplicate point."
    assert any("aligned by interpolate (align=, --align)" in note for note in notes)
    assert any("fewer runs than the group has: tag lr." in note for note in notes)


def test_each_run_is_a_line_without_notes_if_nothing_was_chosen(runs: rf.Runs) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        (ax,) = runs.plot("loss", by="run", runs="a/*", align="union").axes
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["a/0", "a/1"]


def test_ci95_is_the_interval_of_the_line(runs: rf.Runs) -> None:
    with pytest.warns(UserWarning, match=".") as caught:
        figure = runs.plot("loss", "iqm,ci95", runs="a/*")
    assert str(caught[0].message) == "The interval was changed to match the line: iqm, ci95-iqm."
    assert figure.axes[0].get_legend().get_title().get_text().startswith("iqm, ci95-iqm")


def test_defaults_are_those_of_the_command() -> None:
    options = parser_of("plot", load("plot")).parse_args(["runs"])
    command = {**vars(options), "align": _alignment(options)}
    defaults = {
        name: parameter.default
        for name, parameter in inspect.signature(rf.Runs.plot).parameters.items()
    }
    shared = defaults.keys() & command.keys()
    assert shared >= {
        "align",
        "bins",
        "by",
        "duplicates",
        "lax_tags",
        "min_runs",
        "nan",
        "smooth",
        "x",
    }
    assert {name: defaults[name] for name in shared} == {name: command[name] for name in shared}
