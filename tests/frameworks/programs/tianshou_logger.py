"""tianshou: its TensorboardLogger saves, and a second logger restores and continues."""

import numpy as np
from matplotlib import pyplot
from tianshou.utils import TensorboardLogger
from torch.utils.tensorboard import SummaryWriter


def log_epochs(logger, first):
    random = np.random.default_rng(first)
    for epoch in range(first, first + 3):
        returns = {"returns_stat": {"mean": random.random()}, "lens": random.random(5)}
        logger.log_training_data(logger.prepare_dict_for_logging(returns), epoch * 100)
        logger.log_test_data(
            logger.prepare_dict_for_logging(returns, exclude_arrays=False), epoch * 100
        )
        logger.log_update_data({"loss": random.random()}, epoch * 10)
        figure, axes = pyplot.subplots(figsize=(1, 1))
        axes.plot(random.random(4))
        logger.log_info_data({"epoch": epoch, "figure": figure}, epoch)
        logger.save_data(epoch, epoch * 100, epoch * 10, lambda *steps: "")


def make_logger():
    return TensorboardLogger(
        SummaryWriter("logs"), training_interval=1, update_interval=1, save_interval=1
    )


logger = make_logger()
log_epochs(logger, 1)
logger.finalize()

logger = make_logger()
assert logger.restore_data() == (3, 300, 30)
restored = TensorboardLogger.restore_logged_data("logs")
assert len(restored["update"]["loss"]) == 3
log_epochs(logger, 4)
assert logger.restore_data() == (6, 600, 60)
logger.finalize()
