"""A copy of the package with a few changed files, to test recipes for contributors."""

import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import runfold

PACKAGE = Path(runfold.__file__).parent


class Changed:
    """A copy of the package in `folder`, with changes to some of its files; `run` uses the copy.

    A change is (existing text, text to insert before it), or the content of a new file.
    """

    def __init__(self, folder: Path, changes: Mapping[str, str | tuple[str, str]]) -> None:
        self._folder = folder
        skip = shutil.ignore_patterns("__pycache__", "*.pyx", "*.pxd", "*.pyi")
        copy = folder / "runfold"
        shutil.copytree(PACKAGE, copy, ignore=skip, copy_function=os.symlink)
        for name, change in changes.items():
            path = copy / name
            if isinstance(change, str):
                assert not path.exists()
                path.write_text(change)
                continue
            anchor, added = change
            text = path.read_text()
            assert text.count(anchor) == 1, f"{name} has changed: {anchor!r}"
            path.unlink()
            path.write_text(text.replace(anchor, added + anchor))

    def run(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Run Python with the changed package."""
        environment = {**os.environ, "PYTHONPATH": str(self._folder), "COLUMNS": "100"}
        return subprocess.run(
            [sys.executable, *arguments],
            env=environment,
            text=True,
            capture_output=True,
            check=False,
            cwd=self._folder,
        )
