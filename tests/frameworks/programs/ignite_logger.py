"""Ignite with RunfoldLogger: all training runs that the tests read."""

import contextlib
import sys

import torch
from child_process import kill_and_resume, kill_self
from ignite.engine import Engine, Events, create_supervised_evaluator, create_supervised_trainer
from ignite.handlers import Checkpoint, DiskSaver, ModelCheckpoint
from ignite.handlers.tensorboard_logger import TensorboardLogger
from ignite.metrics import Loss
from stop_requests import Stopper

from runfold.integrations.ignite import (
    GradsHistHandler,
    GradsScalarHandler,
    OptimizerParamsHandler,
    OutputHandler,
    RunfoldLogger,
    WeightsHistHandler,
    WeightsScalarHandler,
    global_step_from_engine,
)

OPTIONS = {"system": False, "code": False}
GENERATOR = torch.Generator().manual_seed(1)
BATCHES = [torch.randn(8, 4, generator=GENERATOR) for _ in range(6)]
DATA = [(inputs, inputs.sum(1, keepdim=True)) for inputs in BATCHES]


class Training:
    """A model with its optimizer, trainer and evaluator."""

    def __init__(self, lr=0.05):
        torch.manual_seed(1)
        self.model = torch.nn.Sequential(torch.nn.Linear(4, 3), torch.nn.Linear(3, 1))
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=lr)
        loss = torch.nn.functional.mse_loss
        self.trainer = create_supervised_trainer(self.model, self.optimizer, loss)
        self.evaluator = create_supervised_evaluator(self.model, metrics={"loss": Loss(loss)})
        self.trainer.add_event_handler(Events.EPOCH_COMPLETED, lambda: self.evaluator.run(DATA))

    def attach(self, logger):
        """Attach the usual handlers of a logger."""
        logger.attach_output_handler(
            self.trainer,
            event_name=Events.ITERATION_COMPLETED,
            tag="training",
            output_transform=lambda loss: {"loss": loss},
        )
        logger.attach_output_handler(
            self.evaluator,
            event_name=Events.EPOCH_COMPLETED,
            tag="validation",
            metric_names="all",
            global_step_transform=global_step_from_engine(self.trainer),
        )
        return self

    def attach_all(self, logger):
        """Attach every handler."""
        self.attach(logger)
        every = Events.ITERATION_COMPLETED(every=3)
        logger.attach_opt_params_handler(
            self.trainer, event_name=Events.ITERATION_STARTED, optimizer=self.optimizer
        )
        logger.attach(self.trainer, OptimizerParamsHandler(self.optimizer, "momentum"), every)
        logger.attach(self.trainer, WeightsScalarHandler(self.model), every)
        logger.attach(self.trainer, WeightsHistHandler(self.model), every)
        logger.attach(self.trainer, GradsScalarHandler(self.model, tag="grads"), every)
        logger.attach(self.trainer, GradsHistHandler(self.model), every)

    def at(self, iteration, function):
        self.trainer.add_event_handler(Events.ITERATION_COMPLETED(once=iteration), function)

    def run(self, epochs=2):
        self.trainer.run(DATA, max_epochs=epochs)


def log(name, **options):
    return RunfoldLogger("logs", name=name, **OPTIONS, **options)


def raise_error():
    raise ValueError("the data is gone")


def interrupt():
    raise KeyboardInterrupt


def list_saved(training):
    return {"model": training.model, "optimizer": training.optimizer, "trainer": training.trainer}


def train_until_killed():
    """Save a checkpoint after each epoch, and die in the third one."""
    training = Training()
    logger = log("killed")
    training.attach(logger)
    save = Checkpoint(list_saved(training), DiskSaver("killed", require_empty=False))
    training.trainer.add_event_handler(Events.EPOCH_COMPLETED, save)
    training.at(15, lambda: kill_self(logger.writer))
    training.run(4)


def resume():
    training = Training()
    Checkpoint.load_objects(list_saved(training), checkpoint="killed/checkpoint_12.pt")
    with log("killed", resume=training.trainer.state.iteration + 1) as logger:
        training.attach(logger).run(4)


def log_bad_values():
    """Log the output of an engine that does not train."""
    outputs = {
        "nan": float("nan"),
        "none": None,
        "text": "bad",
        "matrix": torch.ones(2, 2),
        "tensor": torch.tensor(0.5, requires_grad=True),
        "nested": {"deep": {"er": [1.0, 2.0]}},
    }
    engine = Engine(lambda engine, batch: outputs)
    logger = log("bad")
    logger.add_scalar("before", 1.0, 0)
    logger.attach(
        engine, OutputHandler("out", output_transform=lambda output: output), Events.EPOCH_COMPLETED
    )
    engine.run([0], max_epochs=2)
    logger.close()
    logger.add_scalar("after", 1.0, 9)
    logger.close()
    logger.close()


def main():
    kill_and_resume(train_until_killed, resume)

    with TensorboardLogger(log_dir="original") as logger:
        training = Training()
        training.attach_all(logger)
        training.run()
    unused = RunfoldLogger("logs", name="unused", **OPTIONS)
    assert not hasattr(unused, "no_such_method")
    assert not hasattr(unused, "_private")
    assert unused.folder is None
    with log("fit", hparams={"lr": 0.05, "seed": 1}) as logger:
        training = Training()
        training.attach_all(logger)
        checkpoint = ModelCheckpoint("saved", n_saved=1)
        training.trainer.add_event_handler(
            Events.EPOCH_COMPLETED, checkpoint, {"model": training.model}
        )
        training.run()
        logger.save(checkpoint.last_checkpoint, "model.pt")
        logger.add_text("note", "through the logger", 1)

    for lr in (0.01, 0.1):
        for seed in (0, 1):
            with log(f"sweep/lr-{lr}-seed-{seed}", hparams={"lr": lr, "seed": seed}) as logger:
                Training(lr).attach(logger).run(1)

    for name, function in (("failed", raise_error), ("interrupted", interrupt)):
        logger, second = log(name), log(f"{name}-second")
        training = Training().attach(logger).attach(second)
        training.at(3, function)
        with contextlib.suppress(ValueError, KeyboardInterrupt):
            training.run()
            sys.exit("the exception was lost")
    # If the program has its own handler, Ignite continues with the next epoch.
    with log("handled") as logger:
        training = Training().attach(logger)
        training.trainer.add_event_handler(Events.EXCEPTION_RAISED, lambda engine, error: None)
        training.at(3, raise_error)
        training.run()

    with log("stopped") as logger:
        training = Training().attach(logger)
        stopper = Stopper(logger._run)
        training.at(9, stopper.stop)
        training.run(50)
        # An evaluation after training is complete.
        assert training.evaluator.run(DATA).iteration == len(DATA)

    log_bad_values()
    with log("two/a") as first, log("two/b") as second:
        training = Training().attach(first)
        training.at(2, lambda: Training().attach(second).run(1))
        training.run(1)


if __name__ == "__main__":
    main()
