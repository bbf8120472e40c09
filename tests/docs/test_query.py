"""docs/guides/query.md names every column and function, and its conditions are valid."""

import re
from pathlib import Path

import pytest
from helpers.checkout import ROOT
from helpers.logs import hparams, scalars, write

import runfold as rf
from runfold._tables.by_run.column_statistics import STATISTICS
from runfold._tables.by_run.conditions import LOOKUPS, NAMES
from runfold._tables.by_run.expression import LONGEST
from runfold._tables.by_run.run_columns import COUNTED, FIXED

PAGE = (ROOT / "docs" / "guides" / "query.md").read_text(encoding="utf-8")


@pytest.fixture
def runs(tmp_path: Path) -> rf.Runs:
    settings = {"lr": 0.01, "optim.lr": 0.1, "odd name": "x"}
    points = scalars("val/loss", (0, 0.5), (200, 0.3))
    write(tmp_path / "sweep-1" / "seed-0", hparams(**settings), points, scalars("acc", (0, 1.0)))
    return rf.open(tmp_path)


def test_every_condition_of_the_page_is_valid(runs: rf.Runs):
    code = re.search(r"-->\n```python\n(.*?)```", PAGE, re.S)
    assert code is not None
    found = [len(eval(line, {"runs": runs})) for line in code[1].splitlines()]
    assert found == [0, 1, 0, 1, 1]


@pytest.mark.parametrize("word", sorted({*LOOKUPS, *NAMES, *FIXED, *STATISTICS, f"{LONGEST:,}"}))
def test_the_page_names_every_word(word: str):
    assert re.search(rf"\b{word}\b", PAGE)


def test_counted_kinds_have_the_names_of_their_tables():
    assert [name for name in COUNTED.values() if not hasattr(rf.Runs, name)] == []
