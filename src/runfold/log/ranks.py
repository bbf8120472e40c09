"""Which process of a distributed job logs: the first one."""

from __future__ import annotations

import os
import sys

# In the order in which they are asked: torchrun, SLURM, Open MPI.
_VARIABLES = ("RANK", "SLURM_PROCID", "OMPI_COMM_WORLD_RANK")


def is_rank_zero() -> bool:
    """Whether this process is the first of its job, or alone."""
    distributed = sys.modules.get("torch.distributed")
    if distributed is not None and distributed.is_available() and distributed.is_initialized():
        return int(distributed.get_rank()) == 0
    for variable in _VARIABLES:
        text = os.environ.get(variable, "")
        if text.isdecimal():
            return int(text) == 0
    return True
