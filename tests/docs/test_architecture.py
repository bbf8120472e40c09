"""docs/explanation/architecture.md names modules that exist, and every package."""

import re

from helpers.checkout import ROOT

PACKAGE = ROOT / "src" / "runfold"
TEXT = (ROOT / "docs" / "explanation" / "architecture.md").read_text(encoding="utf-8")
NAMES = sorted(set(re.findall(r"`((?:_\w+|compat|integrations)(?:/\w+)*)`", TEXT)))


def test_every_module_that_is_named_exists() -> None:
    found = {
        name
        for name in NAMES
        for path in (PACKAGE / name, PACKAGE / f"{name}.py", PACKAGE / f"{name}.pyx")
        if path.exists()
    }
    assert found == set(NAMES)


def test_every_package_is_named() -> None:
    packages = {path.parent.name for path in PACKAGE.glob("*/__init__.py")}
    assert packages - set(NAMES) == set()
