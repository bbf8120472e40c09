"""The code in the README and on every page of the site runs, and prints what the page shows."""

import shutil
from pathlib import Path

import pytest
from helpers.checkout import ROOT
from helpers.cli_runs import run_apart
from helpers.doc_blocks import read_blocks, run_page
from helpers.services import own_state

PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
# `make test-frameworks` runs these.
FRAMEWORKS = ROOT / "docs" / "guides" / "frameworks"
RUNNABLE = [
    page
    for page in PAGES
    if page.parent != FRAMEWORKS
    and any(block.is_python or block.is_session or block.is_script for block in read_blocks(page))
]


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("demo")
    assert run_apart("demo", cwd=folder).returncode == 0
    return folder


@pytest.mark.parametrize("page", RUNNABLE, ids=lambda page: str(page.relative_to(ROOT)))
def test_the_code_of_a_page_runs_and_prints_what_it_shows(page: Path, demo: Path, tmp_path: Path):
    folder = tmp_path / "work"
    shutil.copytree(demo, folder)
    with own_state(tmp_path / "state"):
        assert run_page(page, folder) > 0


def test_the_readme_runs_most_of_its_code():
    blocks = read_blocks(ROOT / "README.md")
    assert sum(block.is_session for block in blocks) == 3
    assert sum(block.is_python for block in blocks) == 2
    assert sum(block.is_output for block in blocks) == 1
