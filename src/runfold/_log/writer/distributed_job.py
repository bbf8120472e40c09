"""Detection of the distributed job and rank of this process."""

from __future__ import annotations

import hashlib
import os
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

from runfold._system import host_name

if TYPE_CHECKING:
    from collections.abc import Callable

    Result = TypeVar("Result")

# Rank variable, size variables, and whether the launcher only starts programs that train
# together. mpirun comes before Slurm: its processes inherit the variables of the Slurm task
# that started it.
_LAUNCHERS = (
    ("RANK", ("WORLD_SIZE",), True),
    ("OMPI_COMM_WORLD_RANK", ("OMPI_COMM_WORLD_SIZE",), False),
    ("PMI_RANK", ("PMI_SIZE",), False),
    ("SLURM_PROCID", ("SLURM_STEP_NUM_TASKS", "SLURM_NTASKS"), False),
)
# Groups of variables that together identify a job. Use the first group whose first variable is
# set. torchrun's group omits the Slurm step, because each node can have its own step.
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
        rank: the rank of this process, from 0 to `size - 1`.
        size: the number of processes.
        identity: a string that is the same in all processes of the job, and unique to it.
        is_certain: whether it is certain that the processes train together. Slurm and MPI can also
            start independent programs, such as one seed per task.
    """

    rank: int
    size: int
    identity: str
    is_certain: bool


def find_job() -> Job | None:
    """Return the job of this process, or None if it runs alone. Never raises.

    An initialized torch.distributed or jax.distributed group takes precedence over the
    environment variables of torchrun, MPI and Slurm. A rank without a size is ignored, because
    RANK is also set for other purposes.
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
    """Return a short id for the job, from its variables or else the address of its group.

    The variables come first: they are the same before and after a group is initialized.
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
    """Return the rendezvous of a torch process group: an address or a file."""
    store: Any = sys.modules["torch.distributed.distributed_c10d"]._get_default_store()
    while hasattr(store, "underlying_store"):
        store = store.underlying_store
    return str(store.path) if hasattr(store, "path") else f"{store.host}:{store.port}"


def _find_jax_group() -> tuple[int, int, str] | None:
    # jax.process_index() would start a backend.
    distributed = sys.modules.get("jax._src.distributed")
    if distributed is None or distributed.global_state.client is None:
        return None
    state = distributed.global_state
    return int(state.process_id), int(state.num_processes), str(state.coordinator_address or "")


def _try(find: Callable[[], Result]) -> Result | None:
    """Return the result of a function, or None if it raises, as in an untested package version."""
    try:
        return find()
    except Exception:
        return None


def _read_number(name: str) -> int | None:
    text = os.environ.get(name, "")
    return int(text) if text.isdecimal() and len(text) < 10 else None
