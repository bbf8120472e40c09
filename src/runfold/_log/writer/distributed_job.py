"""The distributed job that this process belongs to, and its rank there."""

from __future__ import annotations

import hashlib
import os
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

from runfold._system import host_name

if TYPE_CHECKING:
    from collections.abc import Callable

    Found = TypeVar("Found")

# The rank, the number of processes, and whether the launcher starts only programs that
# train together. mpirun comes before Slurm: its processes inherit the variables of the
# Slurm task that started it.
_LAUNCHERS = (
    ("RANK", ("WORLD_SIZE",), True),
    ("OMPI_COMM_WORLD_RANK", ("OMPI_COMM_WORLD_SIZE",), False),
    ("PMI_RANK", ("PMI_SIZE",), False),
    ("SLURM_PROCID", ("SLURM_STEP_NUM_TASKS", "SLURM_NTASKS"), False),
)
# Variables that together name a job; the first set whose first variable exists counts.
# torchrun goes without the Slurm step, because each node may have a step of its own.
_IDENTITIES = (
    ("TORCHELASTIC_RUN_ID", "MASTER_ADDR", "MASTER_PORT", "SLURM_JOB_ID"),
    ("PMIX_NAMESPACE",),
    ("SLURM_STEP_ID", "SLURM_JOB_ID", "SLURM_RESTART_COUNT"),
    ("MASTER_PORT", "MASTER_ADDR"),
)


@dataclass(frozen=True, slots=True)
class Job:
    """A job of at least two processes, seen from one of them.

    Attributes:
        rank: the number of this process, from 0 to `size - 1`.
        size: the number of processes.
        identity: a text that all processes of the job share, and no other job has.
        is_certain: whether the processes surely train together. Slurm and MPI also start
            independent programs, such as one seed per task.
    """

    rank: int
    size: int
    identity: str
    is_certain: bool


def find_job() -> Job | None:
    """Return the job of this process, or None if the process is alone. Never raises.

    An initialised torch.distributed or jax.distributed decides; without one, the
    variables of torchrun, MPI and Slurm do. A rank without a number of processes is
    ignored: people set RANK for other purposes.
    """
    for find_group in (_find_torch_group, _find_jax_group):
        group = _try(find_group)
        if group is not None:
            return _make_job(*group, is_certain=True)
    for rank_name, size_names, is_certain in _LAUNCHERS:
        rank = _read_number(rank_name)
        size = next(filter(None, map(_read_number, size_names)), None)
        if rank is not None and size is not None and rank < size:
            return _make_job(rank, size, "", is_certain=is_certain)
    return None


def _make_job(rank: int, size: int, address: str, *, is_certain: bool) -> Job | None:
    if size < 2:
        return None
    return Job(rank, size, _identify(address), is_certain)


def _identify(address: str) -> str:
    """Return a short text for the job, from its variables or else its group's address.

    The variables come first: they are the same before and after a group is initialised.
    """
    for names in _IDENTITIES:
        if names[0] in os.environ:
            source = "\n".join(f"{name}={os.environ.get(name, '')}" for name in names)
            break
    else:
        source = address or f"{host_name()}\n{os.getppid()}"
    return hashlib.sha256(source.encode(errors="backslashreplace")).hexdigest()[:32]


def _find_torch_group() -> tuple[int, int, str] | None:
    distributed = sys.modules.get("torch.distributed")
    if distributed is None or not distributed.is_available() or not distributed.is_initialized():
        return None
    rank, size = int(distributed.get_rank()), int(distributed.get_world_size())
    return rank, size, _try(_find_torch_store) or ""


def _find_torch_store() -> str:
    """Return where the processes of a torch group meet: an address, or a file."""
    store: Any = sys.modules["torch.distributed.distributed_c10d"]._get_default_store()
    while hasattr(store, "underlying_store"):
        store = store.underlying_store
    return str(store.path) if hasattr(store, "path") else f"{store.host}:{store.port}"


def _find_jax_group() -> tuple[int, int, str] | None:
    # Not jax.process_index(), which would start a backend.
    distributed = sys.modules.get("jax._src.distributed")
    if distributed is None or distributed.global_state.client is None:
        return None
    state = distributed.global_state
    return int(state.process_id), int(state.num_processes), str(state.coordinator_address or "")


def _try(find: Callable[[], Found]) -> Found | None:
    """Return what a function finds, and None where a package differs from the tested ones."""
    try:
        return find()
    except Exception:
        return None


def _read_number(name: str) -> int | None:
    text = os.environ.get(name, "")
    return int(text) if text.isdecimal() and len(text) < 10 else None
