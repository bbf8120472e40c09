"""The example notebooks about frameworks run, and their saved outputs are current."""

from pathlib import Path

import pytest
from helpers.notebooks import EXAMPLES, find_stale_output

NOTEBOOKS = sorted(EXAMPLES.glob("frameworks/*.ipynb"))


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_runs_and_its_saved_outputs_are_current(path: Path, tmp_path: Path) -> None:
    assert find_stale_output(path, tmp_path) == ""
