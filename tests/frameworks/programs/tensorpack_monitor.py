"""Tensorpack's trainer with Tensorpack's own TFEventWriter and with Runfold's."""

import contextlib
import os
import sys
import time

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"

import numpy as np
import tensorflow
from tensorpack import (
    Callback,
    DataFromList,
    MergeAllSummaries,
    ModelDesc,
    RepeatedData,
    SimpleTrainer,
    TrainConfig,
    launch_train_with_config,
)
from tensorpack.callbacks import MovingAverageSummary
from tensorpack.callbacks import TFEventWriter as Original
from tensorpack.tfutils.summary import add_moving_summary
from tensorpack.utils import logger

import runfold as rf
from runfold.integrations.tensorpack import TFEventWriter

tf = tensorflow.compat.v1
tf.disable_v2_behavior()


class Model(ModelDesc):
    def inputs(self):
        return [
            tf.TensorSpec((None, 4), tf.float32, "inputs"),
            tf.TensorSpec((None, 1), tf.float32, "targets"),
        ]

    def build_graph(self, inputs, targets):
        weights = tf.get_variable("weights", (4, 1))
        cost = tf.reduce_mean(tf.square(tf.matmul(inputs, weights) - targets), name="cost")
        add_moving_summary(cost)
        return cost

    def optimizer(self):
        return tf.train.GradientDescentOptimizer(0.01)


class Act(Callback):
    def __init__(self, function):
        self.function = function

    def _trigger_step(self):
        if self.global_step == 3:
            self.function()


def train(name, act=None, rate=0.01):
    tf.reset_default_graph()
    logger.set_logger_dir(f"original/{name}", action="d")
    inputs = np.ones((8, 4), np.float32)
    monitor = TFEventWriter(f"logs/{name}", system=False, code=False, hparams={"lr": rate})
    config = TrainConfig(
        model=Model(),
        dataflow=RepeatedData(DataFromList([[inputs, inputs.sum(1, keepdims=True)]]), -1),
        steps_per_epoch=5,
        max_epoch=2,
        callbacks=[Act(lambda: act(monitor))] if act else [],
        monitors=[Original(), monitor],
        extra_callbacks=[MovingAverageSummary(), MergeAllSummaries()],
    )
    launch_train_with_config(config, SimpleTrainer())


def stop(monitor):
    rf.stop(monitor.writer.folder, wait=False)
    while not monitor._run.should_stop:
        time.sleep(0.01)


def fail(monitor):
    raise ValueError("the data is gone")


train("fit")
train("lr", rate=0.1)
train("stopped", stop)
# Tensorpack prints the traceback of an exception that its callers handle.
os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stderr.fileno())
with contextlib.suppress(ValueError):
    train("failed", fail)
