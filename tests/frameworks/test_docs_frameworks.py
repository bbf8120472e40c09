"""The code on the pages of docs/guides/frameworks runs, and prints what the pages show."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import ENVIRONMENT

ROOT = Path(__file__).parents[2]
PAGES = sorted((ROOT / "docs" / "guides" / "frameworks").glob("*.md"))
# Runs a page in a process with the environment of the other programs, and without the tests'
# handling of warnings.
RUN = "import sys; from pathlib import Path; from helpers.doc_blocks import read_blocks, run_page;"
RUN += "print('blocks', run_page(Path(sys.argv[1]), Path.cwd()))"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_the_code_of_a_page_runs_and_prints_what_it_shows(page: Path, tmp_path: Path) -> None:
    ended = subprocess.run(
        [sys.executable, "-c", RUN, page],
        cwd=tmp_path,
        env={
            **os.environ,
            **ENVIRONMENT,
            "PYTHONPATH": str(ROOT / "tests"),
            "XDG_STATE_HOME": str(tmp_path / "state"),
        },
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert ended.returncode == 0, ended.stderr
    assert re.search(r"^blocks \d+$", ended.stdout, re.MULTILINE)


def test_every_adapter_has_a_page_in_the_overview() -> None:
    overview = (ROOT / "docs" / "guides" / "frameworks" / "index.md").read_text(encoding="utf-8")
    linked = set(re.findall(r"\]\((\w+)\.md\)", overview))
    assert linked == {page.stem for page in PAGES} - {"index"}
