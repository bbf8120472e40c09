"""Error messages for a framework that is missing, or that lacks what an adapter needs."""

from __future__ import annotations

import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator


@contextmanager
def importing(framework: str, install: str, tested: str) -> Iterator[None]:
    """Explain a failed import of a framework in the `with` block.

    Args:
        framework: its name, as users write it.
        install: the argument of `pip install` that installs it.
        tested: the version that the adapter was tested with.

    Raises:
        ImportError: the framework is missing, or its version lacks what the adapter imports. The
            message says what to install.
    """
    try:
        yield
    except Exception as error:  # CatBoost raises a ValueError if NumPy is too new for it
        if isinstance(error, ModuleNotFoundError) and not _has_package(error.name or ""):
            raise ImportError(
                f"Runfold's adapter for {framework} could not import it ({error}). Install it "
                f"with `pip install {install}`. Tested with version {tested}."
            ) from error
        from importlib.metadata import PackageNotFoundError, version

        name = install.partition("[")[0]
        try:
            found = f"{name} {version(name)}"
        except PackageNotFoundError:
            found = "the installed version"
        is_named = isinstance(error, ImportError | AttributeError)
        reason = str(error) if is_named else f"{type(error).__name__}: {error}"
        raise ImportError(
            f"Runfold's adapter for {framework} does not work with {found}: {reason}. It was "
            f"tested with {name} {tested}; install that version, or log with runfold.SummaryWriter."
        ) from error


def _has_package(missing: str) -> bool:
    """Return whether a missing module belongs to a package that is already imported."""
    package, _, module = missing.partition(".")
    return bool(module) and sys.modules.get(package) is not None
