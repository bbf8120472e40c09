"""The installed package: its version, its files, and the cost of importing it."""

import importlib
import importlib.metadata
import importlib.resources
import pkgutil
import subprocess
import sys

import pytest

import runfold
import runfold._core

HEAVY = {"PIL", "matplotlib", "pandas", "rich", "tensorboard", "torch", "tqdm", "typer"}
KERNELS = [module.name for module in pkgutil.iter_modules(runfold._core.__path__)]


def test_installed_version_matches_the_source() -> None:
    assert importlib.metadata.version("runfold") == runfold.__version__


def test_type_checkers_can_find_the_annotations() -> None:
    assert importlib.resources.files("runfold").joinpath("py.typed").is_file()


def test_import_does_not_import_heavy_packages() -> None:
    listing = subprocess.run(
        [sys.executable, "-c", "import sys, runfold; print(*sys.modules)"],
        check=True,
        capture_output=True,
        text=True,
    )
    imported = {name.partition(".")[0] for name in listing.stdout.split()}
    assert "runfold" in imported
    assert not imported & HEAVY


@pytest.mark.parametrize("name", KERNELS)
def test_every_kernel_is_compiled(name: str) -> None:
    kernel = importlib.import_module(f"runfold._core.{name}")
    assert not str(kernel.__file__).endswith(".py")


def test_checksum_matches_the_published_check_value() -> None:
    checksum = importlib.import_module("runfold._core.checksum")
    assert checksum.crc32c(b"123456789") == 0xE3069283
    assert checksum.crc32c_by_table(b"123456789") == 0xE3069283
