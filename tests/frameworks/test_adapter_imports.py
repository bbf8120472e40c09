"""Importing an adapter imports nothing but its framework and the packages that it needs itself."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

import runfold.integrations

ADAPTERS = sorted(path.stem for path in Path(runfold.integrations.__file__).parent.glob("[!_]*.py"))
# The module that users of a framework import, if it does not have the adapter's name.
IMPORTED = {
    "fastai": "fastai.learner",
    "mmengine": "mmengine.runner",
    "ray_tune": "ray.tune",
    "stable_baselines3": "stable_baselines3",
    "transformers": "transformers.trainer",
}
# Prints the packages that the adapter imports in addition to Runfold and the framework.
PROGRAM = """
import importlib, json, sys
import runfold, numpy, pickle, sqlite3, multiprocessing, concurrent.futures, tempfile, wave
from runfold import SummaryWriter
try:
    importlib.import_module(sys.argv[2])
except ImportError:
    print(json.dumps(None))
    sys.exit()
roots = lambda: {name.partition(".")[0] for name in sys.modules}
before = roots()
importlib.import_module("runfold.integrations." + sys.argv[1])
print(json.dumps(sorted(roots() - before - set(sys.stdlib_module_names))))
"""


@pytest.mark.parametrize("adapter", ADAPTERS)
def test_an_adapter_adds_no_package_to_the_imports_of_its_framework(adapter: str) -> None:
    command = [sys.executable, "-W", "ignore", "-c", PROGRAM]
    ended = subprocess.run(
        [*command, adapter, IMPORTED.get(adapter, adapter)],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert ended.returncode == 0, ended.stderr
    added = json.loads(ended.stdout.splitlines()[-1])
    if added is None:
        pytest.skip(f"{adapter} is not installed")
    assert added == []
