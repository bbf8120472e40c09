"""mmengine: its TensorBoard backend, before and after it is closed."""

import numpy as np
import torch
from mmengine import Config
from mmengine.visualization import TensorboardVisBackend

backend = TensorboardVisBackend("logs")
random = np.random.default_rng(1)
backend.add_config(Config({"lr": 0.1, "model": {"sizes": [4, 1], "name": "small"}}))
for step in range(5):
    backend.add_scalar("loss", random.random(), step)
    backend.add_scalar("tensor", torch.tensor(random.random()), step)
    backend.add_scalars({"accuracy": random.random(), "count": step}, step)
    backend.add_image("image", random.integers(0, 255, (8, 8, 3), dtype=np.uint8), step)
backend.experiment.add_histogram("histogram", random.random(100), 4)
backend.close()
for step in range(5, 8):
    backend.add_scalar("loss", random.random(), step)
backend.add_image("image", random.integers(0, 255, (8, 8, 3), dtype=np.uint8), 8)
backend.close()
