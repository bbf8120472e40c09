"""Adapters whose framework is missing or unsupported: Optuna, scikit-learn, Hydra and Sacred."""

import importlib
import sys
from types import ModuleType

import pytest

INSTALLED_AS = {
    "hydra": "hydra-core",
    "optuna": "optuna",
    "sacred": "sacred",
    "sklearn": "scikit-learn",
}
IMPORTED = {
    "hydra": ["hydra", "hydra.core", "hydra.core.utils"],
    "optuna": ["optuna", "optuna.study"],
    "sacred": ["sacred", "sacred.commandline_options"],
    "sklearn": ["sklearn", "sklearn.base"],
}


@pytest.fixture(autouse=True)
def import_again(monkeypatch):
    """Import the adapters again, even if another test has imported them."""
    for adapter in INSTALLED_AS:
        monkeypatch.delitem(sys.modules, f"runfold.integrations.{adapter}", raising=False)


@pytest.mark.parametrize("adapter", INSTALLED_AS)
def test_without_the_framework_the_error_says_what_to_install(adapter, monkeypatch) -> None:
    monkeypatch.setitem(sys.modules, adapter, None)
    message = f"`pip install {INSTALLED_AS[adapter]}`. Tested with version [0-9.]+[0-9]"
    with pytest.raises(ImportError, match=message):
        importlib.import_module(f"runfold.integrations.{adapter}")


@pytest.mark.parametrize("adapter", INSTALLED_AS)
def test_another_version_of_the_framework_is_named(adapter, monkeypatch) -> None:
    for name in IMPORTED[adapter]:
        monkeypatch.setitem(sys.modules, name, ModuleType(name))
    message = f"does not work with .*It was tested with {INSTALLED_AS[adapter]} [0-9.]+[0-9];"
    with pytest.raises(ImportError, match=message):
        importlib.import_module(f"runfold.integrations.{adapter}")
