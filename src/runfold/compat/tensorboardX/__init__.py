"""Drop-in replacement for tensorboardX's writers, based on Runfold's writer.

    from runfold.compat.tensorboardX import SummaryWriter

    writer = SummaryWriter("runs/seed-1")

Tags are cleaned and arguments are ordered as in tensorboardX 2.6, so that new runs
have the same tags as old runs. `runfold.SummaryWriter` keeps tags unchanged, like torch.

Modules:

    writer         SummaryWriter
    global_writer  GlobalSummaryWriter
"""

from runfold.compat.tensorboardX.global_writer import GlobalSummaryWriter
from runfold.compat.tensorboardX.writer import SummaryWriter

__all__ = ["GlobalSummaryWriter", "SummaryWriter"]
