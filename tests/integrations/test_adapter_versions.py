"""Adapters without their frameworks, or with frameworks that lack what the adapters need."""

import importlib
import sys
from types import ModuleType

import pytest


@pytest.mark.parametrize(
    ("adapter", "packages"),
    [
        ("lightning", ["lightning", "pytorch_lightning"]),
        ("transformers", ["transformers"]),
        ("accelerate", ["accelerate"]),
    ],
)
def test_importing_it_without_the_framework_says_what_to_install(
    adapter, packages, monkeypatch
) -> None:
    for package in packages:
        monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(ImportError, match=f"`pip install {adapter}`. Tested with version"):
        importlib.import_module(f"runfold.integrations.{adapter}")


@pytest.mark.parametrize("adapter", ["accelerate", "lightning", "transformers"])
def test_importing_it_with_another_version_names_the_tested_version(adapter, monkeypatch) -> None:
    names = {
        "accelerate": ["accelerate", "accelerate.state", "accelerate.tracking"],
        "lightning": ["lightning", "lightning.pytorch", "lightning.pytorch.callbacks"],
        "transformers": [
            "transformers",
            "transformers.integrations",
            "transformers.integrations.integration_utils",
        ],
    }
    for name in names[adapter]:
        monkeypatch.setitem(sys.modules, name, ModuleType(name))
    with pytest.raises(ImportError, match=f"It was tested with {adapter} [0-9.]+[0-9];"):
        importlib.import_module(f"runfold.integrations.{adapter}")


def test_without_the_variable_lightning_gets_no_callback(monkeypatch) -> None:
    from runfold.integrations._support.lightning_callbacks import VARIABLE, make_callbacks

    monkeypatch.setitem(sys.modules, "lightning", None)  # importing it would raise
    monkeypatch.setitem(sys.modules, "pytorch_lightning", None)
    monkeypatch.delenv(VARIABLE, raising=False)
    assert make_callbacks() == []
    for value in ("", "0", "false", "Off", " no "):
        monkeypatch.setenv(VARIABLE, value)
        assert make_callbacks() == []
    monkeypatch.setenv(VARIABLE, "1")
    with pytest.raises(ImportError, match="pip install lightning"):
        make_callbacks()
