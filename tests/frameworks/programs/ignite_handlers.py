"""ignite: every handler of its TensorboardLogger, with the given package."""

import sys

if sys.argv[1] == "torch":
    sys.modules["tensorboardX"] = None  # ignite uses torch's writer if this is missing

import torch
from ignite.engine import Engine, Events, create_supervised_evaluator, create_supervised_trainer
from ignite.handlers.tensorboard_logger import (
    GradsHistHandler,
    GradsScalarHandler,
    OptimizerParamsHandler,
    TensorboardLogger,
    WeightsHistHandler,
    WeightsScalarHandler,
    global_step_from_engine,
)
from ignite.metrics import Loss, RunningAverage

torch.manual_seed(1)
data = [(inputs := torch.randn(8, 4), inputs.sum(1, keepdim=True)) for _ in range(6)]
model = torch.nn.Sequential(torch.nn.Linear(4, 3), torch.nn.ReLU(), torch.nn.Linear(3, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
trainer = create_supervised_trainer(model, optimizer, torch.nn.functional.mse_loss)
RunningAverage(output_transform=lambda loss: loss).attach(trainer, "average")
evaluator = create_supervised_evaluator(model, metrics={"loss": Loss(torch.nn.functional.mse_loss)})


@trainer.on(Events.EPOCH_COMPLETED)
def evaluate(engine: Engine) -> None:
    evaluator.run(data)


with TensorboardLogger(log_dir="logs") as logger:
    logger.attach_output_handler(
        trainer,
        event_name=Events.ITERATION_COMPLETED(every=2),
        tag="training",
        output_transform=lambda loss: {"batchloss": loss},
        metric_names="all",
    )
    logger.attach_output_handler(
        evaluator,
        event_name=Events.EPOCH_COMPLETED,
        tag="validation",
        metric_names=["loss"],
        global_step_transform=global_step_from_engine(trainer),
    )
    every = Events.ITERATION_COMPLETED(every=3)
    logger.attach(trainer, OptimizerParamsHandler(optimizer), Events.ITERATION_STARTED)
    logger.attach(trainer, OptimizerParamsHandler(optimizer, "momentum"), every)
    logger.attach(trainer, WeightsScalarHandler(model, reduction=torch.norm), every)
    logger.attach(trainer, WeightsHistHandler(model), every)
    logger.attach(trainer, GradsScalarHandler(model, reduction=torch.norm, tag="grads"), every)
    logger.attach(trainer, GradsHistHandler(model), every)
    trainer.run(data, max_epochs=3)
    logger.writer.add_text("text", "through the logger's writer", 1)
    logger.add_image("picture", torch.rand(3, 8, 8), 1)
