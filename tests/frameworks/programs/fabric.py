"""Lightning Fabric: its TensorBoardLogger in a hand-written loop."""

import torch
from lightning.fabric import Fabric
from lightning.fabric.loggers import TensorBoardLogger

torch.manual_seed(1)
logger = TensorBoardLogger("logs", name="fabric", version="one", prefix="run")
fabric = Fabric(accelerator="cpu", loggers=logger)
fabric.launch()
model = torch.nn.Linear(4, 1)
model, optimizer = fabric.setup(model, torch.optim.SGD(model.parameters(), lr=0.05))
logger.log_hyperparams({"lr": 0.05, "name": "small"}, {"loss": 0.0}, step=0)
for step in range(10):
    inputs = torch.randn(8, 4)
    loss = ((model(inputs) - inputs.sum(1, keepdim=True)) ** 2).mean()
    optimizer.zero_grad()
    fabric.backward(loss)
    optimizer.step()
    fabric.log("loss", loss, step)
    fabric.log_dict({"weight": model.weight.mean(), "bias": model.bias.item()}, step)
    fabric.log("both", {"train": loss.item(), "half": loss.item() / 2}, step)
logger.log_graph(model, torch.zeros(1, 4))
logger.save()
logger.finalize("success")
logger.experiment.add_scalar("after/finalize", 1.0, 10)
logger.finalize("success")
