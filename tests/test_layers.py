"""Imports of the Cython core; import-linter checks those of Python modules."""

import re
from pathlib import Path

import pytest
from helpers.checkout import ROOT

SOURCES = ROOT / "src" / "runfold"
CYTHON = sorted(path for suffix in ("pyx", "pxd") for path in SOURCES.rglob(f"*.{suffix}"))
IMPORT = re.compile(r"^\s*(?:from|import|cimport)\s+(runfold[\w.]*)", re.MULTILINE)


def test_only_the_core_is_cython() -> None:
    assert {path.parent.name for path in CYTHON} == {"_core"}


@pytest.mark.parametrize("path", CYTHON, ids=lambda path: path.name)
def test_core_imports_no_higher_layer(path: Path) -> None:
    allowed = ("runfold._core", "runfold._select", "runfold.errors", "runfold._humanize")
    imported = IMPORT.findall(path.read_text(encoding="utf-8"))
    assert [name for name in imported if not name.startswith(allowed)] == []
