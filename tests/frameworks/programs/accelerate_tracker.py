"""accelerate: its TensorBoard tracker, with the configuration, scalars, text and images."""

import numpy as np
import torch
from accelerate import Accelerator

torch.manual_seed(1)
accelerator = Accelerator(cpu=True, log_with="tensorboard", project_dir="logs")
accelerator.init_trackers("run", config={"lr": 0.05, "steps": 8, "name": "small", "fast": True})
model = torch.nn.Linear(4, 1)
model, optimizer = accelerator.prepare(model, torch.optim.SGD(model.parameters(), lr=0.05))
for step in range(8):
    inputs = torch.randn(8, 4)
    loss = ((model(inputs) - inputs.sum(1, keepdim=True)) ** 2).mean()
    accelerator.backward(loss)
    optimizer.step()
    optimizer.zero_grad()
    accelerator.log({"loss": loss.item(), "step": step, "note": f"step {step}"}, step=step)
    accelerator.log({"both": {"train": loss.item(), "half": loss.item() / 2}}, step=step)
    pictures = np.random.default_rng(step).random((2, 3, 8, 8))
    accelerator.get_tracker("tensorboard").log_images({"pictures": pictures}, step=step)
accelerator.end_training()
