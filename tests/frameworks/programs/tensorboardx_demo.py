"""A tour of tensorboardX's writer, like its own demo."""

import numpy as np
import torch
from tensorboardX import SummaryWriter

torch.manual_seed(1)
random = np.random.default_rng(1)
writer = SummaryWriter(logdir="logs/demo", comment="unused")
for step in range(20):
    value = random.random()
    writer.add_scalar("data/scalar1", value, step)
    writer.add_scalar("data/scalar2", torch.tensor(value * 2), step)
    writer.add_scalar("data/named", value, step, display_name="Named", summary_description="A name")
    if step % 10 == 0:
        picture = random.integers(0, 255, (3, 16, 16), dtype=np.uint8)
        writer.add_image("image", picture, step)
        writer.add_images("images", np.stack([picture, picture]), step)
        boxes = np.array([[2, 2, 8, 8]])
        writer.add_image_with_boxes("boxes", picture, boxes, step, labels=["a"])
        writer.add_text("text", f"text logged at step {step}", step)
        writer.add_histogram("histogram", random.normal(size=100), step)
        writer.add_histogram("doane", random.normal(size=100), step, bins="doane")
        labels, predictions = random.integers(0, 2, 50), random.random(50)
        writer.add_pr_curve("curve", labels, predictions, step)
        video = random.integers(0, 255, (1, 3, 3, 8, 8), dtype=np.uint8)
        writer.add_video("video", video, step, fps=2, dataformats="NTCHW")
with writer.use_metadata(global_step=30):
    writer.add_scalar("data/scalar1", 0.5)
writer.add_embedding(
    torch.arange(12.0).reshape(4, 3),
    metadata=["a", "b", "c", "d"],
    label_img=torch.rand(4, 3, 8, 8).round(),
    global_step=1,
    tag="points",
)
writer.add_mesh("mesh", torch.arange(9.0).reshape(1, 3, 3), global_step=1)
writer.add_custom_scalars_multilinechart(["data/scalar1", "data/scalar2"])
writer.add_graph(torch.nn.Linear(2, 1), torch.zeros(1, 2))
writer.close()
