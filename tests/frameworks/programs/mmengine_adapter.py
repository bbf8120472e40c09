"""mmengine: Runners with TensorBoard's backend and RunfoldVisBackend, in every mode."""

import os
import sys
import time

import numpy as np
import torch
from mmengine import Config
from mmengine.evaluator import BaseMetric
from mmengine.hooks import Hook
from mmengine.model import BaseModel
from mmengine.registry import HOOKS
from mmengine.runner import Runner
from mmengine.visualization import Visualizer
from torch.utils.data import DataLoader, TensorDataset

import runfold as rf
from runfold.integrations.mmengine import RunfoldVisBackend

# MMEngine's checkpoints contain more than weights.
os.environ["TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD"] = "1"
OPTIONS = {"system": False, "code": False}


class Model(BaseModel):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(4, 1)

    def forward(self, inputs, targets, mode):
        outputs = self.layer(inputs)
        if mode == "loss":
            return {"loss": torch.nn.functional.mse_loss(outputs, targets)}
        return outputs, targets


class Error(BaseMetric):
    def process(self, data_batch, data_samples):
        outputs, targets = data_samples
        self.results.append((outputs - targets).abs().mean().item())

    def compute_metrics(self, results):
        return {"error": sum(results) / len(results)}


@HOOKS.register_module()
class Act(Hook):
    """Calls a function after a training iteration."""

    def __init__(self, iteration, function):
        self.iteration, self.function = iteration, function

    def after_train_iter(self, runner, batch_idx, data_batch=None, outputs=None):
        if runner.iter + 1 == self.iteration:
            self.function()


def make_loader():
    generator = torch.Generator().manual_seed(1)
    inputs = torch.randn(32, 4, generator=generator)
    return DataLoader(TensorDataset(inputs, inputs.sum(1, keepdim=True)), batch_size=4)


def train(name, act=None, rate=0.05, epochs=2, hooks=(), resume=False):
    torch.manual_seed(1)
    backend = {"type": "RunfoldVisBackend", "logdir": f"logs/{name}", "resume": resume, **OPTIONS}
    hooks = [{"type": hook} for hook in hooks]
    if act is not None:
        hooks.append({"type": "Act", "iteration": act[0], "function": act[1]})
    Runner(
        Model(),
        work_dir=f"work/{name}",
        train_dataloader=make_loader(),
        val_dataloader=make_loader(),
        train_cfg={"by_epoch": True, "max_epochs": epochs, "val_interval": 1},
        val_cfg={},
        val_evaluator={"type": Error},
        optim_wrapper={"optimizer": {"type": "SGD", "lr": rate}},
        default_hooks={"logger": {"type": "LoggerHook", "interval": 2}},
        custom_hooks=hooks,
        visualizer={
            "type": "Visualizer",
            "name": name,
            "vis_backends": [{"type": "TensorboardVisBackend"}, backend],
        },
        randomness={"seed": 1},
        experiment_name=name,
        cfg=Config({"optimizer": {"lr": rate}, "api_key": "sk-12345678901234567890"}),
        resume=resume is not False,
        log_level="ERROR",
    ).train()


def find_backend():
    return Visualizer.get_current_instance().get_backend("RunfoldVisBackend")


def kill():
    find_backend().experiment.flush()
    os.kill(os.getpid(), 9)


def stop():
    backend = find_backend()
    rf.stop(backend.experiment.folder, wait=False)
    while not backend.should_stop:
        time.sleep(0.01)


def fail():
    raise ValueError("the data is gone")


def use_backend():
    backend = RunfoldVisBackend("logs/bad", **OPTIONS)
    backend.close()
    backend.add_scalar("before", 1.0, 0)
    for value in ("text", [1, 2], object()):
        backend.add_scalar("text", value, 0)
    backend.add_scalars({"nested": {"a": 1.0, "b": {"c": 2.0}}, "nan": float("nan")}, 1)
    backend.add_scalar("mixed", 1, 0)
    backend.add_scalar("mixed", torch.tensor(0.5, requires_grad=True), 1)
    backend.add_scalar("mixed", "x", 2)
    backend.add_image("image", np.zeros((4, 5, 3), np.uint8), 2)
    backend.add_graph(torch.nn.Linear(2, 1), None)
    backend.close()
    backend.add_scalar("after", 1.0, 9)
    backend.close()
    first, second = (RunfoldVisBackend("logs/two", **OPTIONS) for _ in range(2))
    first.add_scalar("loss", 1.0, 0)
    second.add_scalar("loss", 2.0, 0)
    first.close()
    second.close()


def train_apart(name, act):
    """Train in a child process, which may die or fail."""
    child = os.fork()
    if child == 0:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stderr.fileno())
        train(name, act=act)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


assert train_apart("killed", act=(13, kill)) == -9
assert train_apart("failed", act=(3, fail)) == 1
train("fit")
train("killed", epochs=3, resume=9)
for rate in (0.05, 0.1):
    train(f"lr-{rate}", rate=rate, epochs=1)
train("stopped", act=(3, stop), hooks=["RunfoldHook"])
try:
    train("interrupted", act=(3, stop))
except KeyboardInterrupt:
    find_backend().close()
# The program handles the exception. The hook detects that the runner did not finish.
try:
    train("failed-last", act=(3, fail), hooks=["RunfoldHook"])
except ValueError:
    use_backend()
