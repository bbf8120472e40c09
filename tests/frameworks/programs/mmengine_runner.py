"""mmengine: a Runner that trains and validates, with TensorBoard as its backend."""

import torch
from mmengine.evaluator import BaseMetric
from mmengine.model import BaseModel
from mmengine.runner import Runner
from torch.utils.data import DataLoader, TensorDataset


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


def make_loader():
    inputs = torch.randn(32, 4)
    return DataLoader(TensorDataset(inputs, inputs.sum(1, keepdim=True)), batch_size=4)


torch.manual_seed(1)
Runner(
    Model(),
    work_dir="work",
    train_dataloader=make_loader(),
    val_dataloader=make_loader(),
    train_cfg={"by_epoch": True, "max_epochs": 2, "val_interval": 1},
    val_cfg={},
    val_evaluator={"type": Error},
    optim_wrapper={"optimizer": {"type": torch.optim.SGD, "lr": 0.05}},
    default_hooks={"logger": {"type": "LoggerHook", "interval": 2}},
    visualizer={"type": "Visualizer", "vis_backends": [{"type": "TensorboardVisBackend"}]},
    randomness={"seed": 1},
    experiment_name="one",
).train()
