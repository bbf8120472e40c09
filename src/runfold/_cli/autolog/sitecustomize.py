"""Connects the event writers that a program imports to the run that `runfold run` tracks.

Python imports this module when it starts, because it is on PYTHONPATH. It covers torch,
tensorboardX and TensorFlow. A writer created without a folder logs to the run's folder. For any
other writer, a link to its folder is created in the run's folder.

This module must work in Python 3.7 and later without other packages, and import as little as
possible. An error in it must not reach the program.
"""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False  # importing `typing` would delay every Python program
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

LOGDIR_VARIABLE = "RUNFOLD_LOGDIR"
CLAIMS_VARIABLE = "RUNFOLD_RUN_CLAIMS"
RANK_VARIABLES = ("RANK", "SLURM_PROCID", "OMPI_COMM_WORLD_RANK", "LOCAL_RANK")

START = os.getcwd() if os.path.isdir(os.curdir) else os.sep
# The folders that this process assigned to writers created without one.
default_folders: list[str] = []


def choose_default(logdir: str) -> str:
    """Return a folder for a writer without one: the run's folder or an unused subfolder."""
    rank = next((os.environ[name] for name in RANK_VARIABLES if name in os.environ), "0")
    base = logdir if rank == "0" else os.path.join(logdir, f"rank-{rank}")
    folder, number = base, 1
    while folder in default_folders or not claim(rank, number):
        number += 1
        folder = os.path.join(base, f"writer-{number}")
    default_folders.append(folder)
    return folder


def claim(rank: str, number: int) -> bool:
    """Claim a writer number; return False if another process of the run has claimed it."""
    try:
        os.mkdir(os.path.join(os.environ[CLAIMS_VARIABLE], f"{rank}-{number}"))
    except FileExistsError:
        return False
    except (KeyError, OSError):
        pass  # on another machine, or after `runfold run` has ended
    return True


def connect(logdir: str, folder: Any) -> None:
    """Create a link to a writer's folder in the run's folder, unless one contains the other."""
    text = os.fsdecode(folder)
    if "://" in text:
        return
    path, inside = os.path.realpath(text), os.path.realpath(logdir)
    if is_below(path, inside) or is_below(inside, path):
        return
    name = os.path.relpath(path, os.path.realpath(START))
    if name.startswith(os.pardir):
        name = os.path.basename(path)
    base = os.path.join(inside, name)
    parent = os.path.dirname(base)
    if not is_below(os.path.realpath(parent), inside):
        return
    os.makedirs(parent, exist_ok=True)
    link, number = base, 1
    while not make_link(path, link):
        number += 1
        link = f"{base}-{number}"


def make_link(path: str, link: str) -> bool:
    """Create a link to a folder; return False if something else has the link's name."""
    try:
        os.symlink(os.path.relpath(path, os.path.dirname(link)), link)
    except FileExistsError:
        return os.path.realpath(link) == path
    return True


def is_below(path: str, folder: str) -> bool:
    """Return whether a real path is the folder or is below it."""
    return path == folder or path.startswith(os.path.join(folder, ""))


def read_folder(value: Any) -> Any:
    """Return the folder from a writer's argument, which can be a TensorFlow tensor."""
    return value.numpy() if hasattr(value, "numpy") else value


def wrap(
    function: Callable[..., Any], position: int, name: str, fills: bool = False
) -> Callable[..., Any]:
    """Return a wrapper that calls a function and then connects the writer's folder.

    The folder is the argument with this position and name. If `fills` is set and the
    argument is missing, a folder of the run is passed instead.
    """
    import contextlib
    import functools

    @functools.wraps(function)
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        try:
            logdir = os.environ.get(LOGDIR_VARIABLE)
            folder = args[position] if len(args) > position else kwargs.get(name)
            if fills and logdir and not (folder or kwargs.get("logdir") or kwargs.get("log_dir")):
                folder = choose_default(logdir)
                if len(args) > position:
                    args = (*args[:position], folder, *args[position + 1 :])
                else:
                    kwargs[name] = folder
        except Exception:
            logdir = None
        result = function(*args, **kwargs)
        with contextlib.suppress(Exception):
            if logdir and folder is not None and not fills:
                connect(logdir, read_folder(folder))
        return result

    return wrapped


def patch_writer(module: Any) -> None:
    """Patch SummaryWriter and FileWriter in the module of torch or tensorboardX."""
    first = "logdir" if module.__name__.startswith("tensorboardX") else "log_dir"
    module.SummaryWriter.__init__ = wrap(module.SummaryWriter.__init__, 1, first, fills=True)
    module.FileWriter.__init__ = wrap(module.FileWriter.__init__, 1, first)


def patch_tensorflow(module: Any) -> None:
    """Patch the operation that creates an event file."""
    module.create_summary_file_writer = wrap(module.create_summary_file_writer, 1, "logdir")


def patch_old_tensorflow(module: Any) -> None:
    """Patch the writer of TensorFlow 1."""
    module.EventFileWriter.__init__ = wrap(module.EventFileWriter.__init__, 1, "logdir")


PATCHES = {
    "torch.utils.tensorboard.writer": patch_writer,
    "tensorboardX.writer": patch_writer,
    "tensorflow.python.ops.gen_summary_ops": patch_tensorflow,
    "tensorflow.python.summary.writer.event_file_writer": patch_old_tensorflow,
}


class Finder:
    """Patches the modules in PATCHES right after they are imported. Ignores other modules."""

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> Any:
        """Return the spec of a module to patch, with a loader that patches it."""
        patch = PATCHES.pop(name, None)
        if patch is None:
            return None
        import contextlib
        from importlib.util import find_spec

        with contextlib.suppress(Exception):
            # This calls the finder again, which no longer knows the name.
            spec: Any = find_spec(name)
            run_module = spec.loader.exec_module

            def exec_module(module: Any) -> None:
                run_module(module)
                with contextlib.suppress(Exception):
                    patch(module)

            spec.loader.exec_module = exec_module
            return spec
        return None


def import_next() -> None:
    """Import the `sitecustomize` that this module shadows, if any."""
    here = os.path.dirname(os.path.abspath(__file__))
    # Programs that this program starts find the hook through PYTHONPATH.
    sys.path[:] = [path for path in sys.path if os.path.abspath(path or os.curdir) != here]
    own = sys.modules.pop("sitecustomize")
    try:
        import sitecustomize  # type: ignore[import-not-found]  # noqa: F401
    except ImportError as error:
        sys.modules["sitecustomize"] = own
        if error.name != "sitecustomize":
            raise


if __name__ == "sitecustomize":
    if os.environ.get(LOGDIR_VARIABLE):
        sys.meta_path.insert(0, Finder())
    import_next()
