"""The Lightning integration without Lightning."""

import importlib
import sys

import pytest


def test_importing_it_without_lightning_says_what_to_install(monkeypatch) -> None:
    for package in ("lightning", "pytorch_lightning"):
        monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(ImportError, match="`pip install lightning`"):
        importlib.import_module("runfold.integrations.lightning")
