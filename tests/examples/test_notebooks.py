"""The example notebooks run from start to end, and their saved outputs are current."""

import getpass
import re
import socket
from pathlib import Path

import nbformat
import pytest
from helpers.notebooks import EXAMPLES, find_difference, find_stale_output, simplify, texts_of

NOTEBOOKS = sorted(EXAMPLES.glob("*.ipynb"))
# `make test-frameworks` runs these.
FRAMEWORKS = sorted(EXAMPLES.glob("frameworks/*.ipynb"))
LARGEST = 300_000
METADATA = {
    "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
    "language_info": {"name": "python"},
}


def test_the_comparison_allows_for_times_and_rounding_errors_only():
    assert find_difference("loss 0.12345 of seed-1", "loss 0.12346 of seed-1") == ""
    assert find_difference("-1e-17", "2e-17") == ""
    assert find_difference("<td>0.5</td> a", "<td>0.6</td> a") == (
        "'<td>0.5</td>' instead of '<td>0.6</td>' after ''"
    )
    assert find_difference("loss of seed-1", "loss of seed-2") == (
        "'seed-1' instead of 'seed-2' after 'loss of'"
    )
    assert find_difference("1 run", "1 run more") == "'' instead of 'more' after '1 run'"
    assert simplify("start 2026-01-31 12:30:00.5+00:00  in 0.3 s") == "start TIME in DURATION"
    assert simplify("1.795011e+09 and 11.0 kB") == "TIME and SIZE"


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_runs_and_its_saved_outputs_are_current(path: Path, tmp_path: Path) -> None:
    assert find_stale_output(path, tmp_path) == ""


@pytest.mark.parametrize("path", [*NOTEBOOKS, *FRAMEWORKS], ids=lambda path: path.stem)
def test_a_saved_notebook_is_complete_small_and_names_no_machine(path: Path) -> None:
    notebook = nbformat.read(path, as_version=4)
    nbformat.validate(notebook)
    assert path.stat().st_size < LARGEST
    assert notebook.metadata == METADATA
    assert all(cell.metadata == {} for cell in notebook.cells)
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    assert [cell.execution_count for cell in code] == list(range(1, len(code) + 1))
    assert any("image/png" in output.get("data", {}) for cell in code for output in cell.outputs)
    for _, kind, text in texts_of(notebook):
        assert kind not in ("stderr", "error")
        assert not re.search(r"(?<![\w.<])/(home|root|Users|tmp|var|private|work)/", text)
        assert not re.search(r"\b[A-Z]:\\", text)
        for name in (getpass.getuser(), socket.gethostname(), str(Path.home())):
            assert not re.search(rf"(?<!\w){re.escape(name)}(?!\w)", text)


def test_the_readme_links_every_notebook() -> None:
    text = (EXAMPLES / "README.md").read_text(encoding="utf-8")
    links = re.findall(r"\]\(((?:\w+/)?\w+\.ipynb)\)", text)
    notebooks = [*NOTEBOOKS, *FRAMEWORKS]
    assert sorted(links) == sorted(path.relative_to(EXAMPLES).as_posix() for path in notebooks)
