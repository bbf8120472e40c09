"""tensorboardX's writers, on Runfold's: change the import and nothing else.

    from runfold.compat.tensorboardX import SummaryWriter

    writer = SummaryWriter("runs/seed-1")

Tags are cleaned and arguments are ordered as in tensorboardX 2.6, so that new runs
have the tags of old ones. `runfold.SummaryWriter` keeps tags as they are, as torch does.

Modules:

    writer         SummaryWriter
    global_writer  GlobalSummaryWriter
"""

from runfold.compat.tensorboardX.global_writer import GlobalSummaryWriter
from runfold.compat.tensorboardX.writer import SummaryWriter

__all__ = ["GlobalSummaryWriter", "SummaryWriter"]
