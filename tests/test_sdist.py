"""The source distribution includes the page, so installing it does not need Node.js."""

import os
import runpy
import shutil
from pathlib import Path

import pytest
from helpers.checkout import ROOT
from setuptools.command.egg_info import manifest_maker
from setuptools.dist import Distribution

ROOT = ROOT
PAGE = Path("src/runfold/_serve/page/index.html")
# Like web/generate.py, this script writes only what has changed.
GENERATE = """
from pathlib import Path

names, generated = Path("src/runfold/names.py"), Path("web/src/generated.ts")
if not generated.exists() or generated.read_text() != names.read_text():
    generated.write_text(names.read_text())
"""


@pytest.fixture(scope="module")
def files(tmp_path_factory) -> set[str]:
    """The files in the source distribution of this tree."""
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(ROOT)
        distribution = Distribution({"script_name": "setup.py"})
        distribution.parse_config_files()
        maker = manifest_maker(distribution)
        maker.manifest = str(tmp_path_factory.mktemp("sdist") / "SOURCES.txt")
        maker.finalize_options()
        maker.run()
    return set(Path(maker.manifest).read_text(encoding="utf-8").splitlines())


def in_tree(folder: str, pattern: str) -> set[str]:
    return {path.relative_to(ROOT).as_posix() for path in (ROOT / folder).rglob(pattern)}


def test_the_whole_page_is_included(files):
    page = {path for path in in_tree("src/runfold/_serve/page", "*") if (ROOT / path).is_file()}
    assert PAGE.as_posix() in page
    assert page <= files


def test_every_source_is_included(files):
    sources = {
        path for pattern in ("*.py", "*.pyx", "*.pxd", "*.h") for path in in_tree("src", pattern)
    }
    assert sources
    assert sources <= files
    assert {"web/build.py", "web/package.json", "setup.py", "pyproject.toml", "LICENSE"} <= files


def test_no_built_or_installed_files_are_included_except_the_page(files):
    assert [path for path in files if path.endswith((".so", ".c", ".pyc"))] == []
    assert [path for path in files if "node_modules" in path or path.startswith("build/")] == []


@pytest.fixture
def tree(tmp_path, monkeypatch) -> Path:
    """A checkout, as the current folder, with two source files of the page but no page."""
    (tmp_path / "web" / "src").mkdir(parents=True)
    shutil.copy(ROOT / "web" / "build.py", tmp_path / "web")
    (tmp_path / "web" / "generate.py").write_text(GENERATE)
    (tmp_path / "web" / "src" / "main.ts").touch()
    (tmp_path / "src" / "runfold").mkdir(parents=True)
    for path in ("src/runfold/names.py", "web/src/generated.ts"):
        (tmp_path / path).write_text("const TABS = 1")
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("RUNFOLD_NO_PAGE", raising=False)
    return tmp_path


def needs_page() -> bool:
    return runpy.run_path(str(ROOT / "setup.py"))["needs_page"]()


def put_page(tree: Path, later: float) -> None:
    """Create a page that is `later` seconds newer than its newest source."""
    newest = max(path.stat().st_mtime for path in (tree / "web").rglob("*"))
    (tree / PAGE).parent.mkdir(parents=True)
    (tree / PAGE).touch()
    os.utime(tree / PAGE, (newest + later, newest + later))


def test_a_checkout_builds_a_missing_page(tree):
    assert needs_page()


@pytest.mark.parametrize(("later", "expected"), [(1, False), (-1, True)])
def test_a_checkout_builds_a_page_that_is_older_than_its_sources(tree, later, expected):
    put_page(tree, later)
    assert needs_page() == expected


def test_a_checkout_builds_a_page_that_is_older_than_the_names_it_shares_with_python(tree):
    put_page(tree, 0)
    (tree / "src" / "runfold" / "names.py").write_text("const TABS = 2")
    assert needs_page()


def test_a_checkout_tries_to_build_a_page_whose_sources_cannot_be_generated(tree):
    put_page(tree, 1)
    (tree / "web" / "generate.py").write_text("import missing")
    assert needs_page()


def test_a_source_distribution_uses_its_own_page_and_generates_nothing(tree):
    (tree / "PKG-INFO").touch()
    assert needs_page()
    put_page(tree, -1)
    (tree / "web" / "generate.py").write_text("import missing")
    assert not needs_page()


def test_no_page_is_built_if_it_is_disabled(tree, monkeypatch):
    monkeypatch.setenv("RUNFOLD_NO_PAGE", "1")
    assert not needs_page()
