"""The examples in the documentation of torch.utils.tensorboard, in order."""

import os

import matplotlib.pyplot as plt
import numpy as np
import torch
from torch.utils.tensorboard import SummaryWriter

torch.manual_seed(1)
np.random.seed(1)
os.mkdir("logs")
os.chdir("logs")

writer = SummaryWriter("first")
for n_iter in range(100):
    writer.add_scalar("Loss/train", np.random.random(), n_iter)
    writer.add_scalar("Loss/test", np.random.random(), n_iter)
    writer.add_scalar("Accuracy/train", np.random.random(), n_iter)
    writer.add_scalar("Accuracy/test", np.random.random(), n_iter)

writer = SummaryWriter("scalars")
r = 5
for i in range(10):
    writer.add_scalars(
        "run_14h",
        {"xsinx": i * np.sin(i / r), "xcosx": i * np.cos(i / r), "tanx": np.tan(i / r)},
        i,
    )
writer.close()

writer = SummaryWriter("histograms")
for i in range(10):
    x = np.random.random(1000)
    writer.add_histogram("distribution centers", x + i, i)
writer.close()

img = np.zeros((3, 100, 100))
img[0] = np.arange(0, 10000).reshape(100, 100) / 10000
img[1] = 1 - np.arange(0, 10000).reshape(100, 100) / 10000
img_hwc = np.zeros((100, 100, 3))
img_hwc[:, :, 0] = np.arange(0, 10000).reshape(100, 100) / 10000
img_hwc[:, :, 1] = 1 - np.arange(0, 10000).reshape(100, 100) / 10000
writer = SummaryWriter("images")
writer.add_image("my_image", img, 0)
writer.add_image("my_image_hwc", img_hwc, 0, dataformats="HWC")
img_batch = np.zeros((16, 3, 100, 100))
for i in range(16):
    img_batch[i, 0] = np.arange(0, 10000).reshape(100, 100) / 10000 / 16 * i
    img_batch[i, 1] = (1 - np.arange(0, 10000).reshape(100, 100) / 10000) / 16 * i
writer.add_images("my_image_batch", img_batch, 0)
figure = plt.figure(figsize=(1, 1))
figure.add_subplot().plot([1, 2, 3])
writer.add_figure("figure", figure, 0)
writer.close()

writer = SummaryWriter("texts")
writer.add_text("lstm", "This is an lstm", 0)
writer.add_text("rnn", "This is an rnn", 10)
writer.add_audio("tone", np.sin(np.arange(4410) * 0.1), 0, 44100)
labels = np.random.randint(2, size=100)  # binary label
predictions = np.random.rand(100)
writer.add_pr_curve("pr_curve", labels, predictions, 0)
writer.close()

writer = SummaryWriter("mesh")
vertices_tensor = torch.as_tensor([[1, 1, 1], [-1, -1, 1], [1, -1, -1], [-1, 1, -1]]).unsqueeze(0)
colors_tensor = torch.as_tensor([[255, 0, 0], [0, 255, 0], [0, 0, 255], [255, 0, 255]]).unsqueeze(0)
faces_tensor = torch.as_tensor([[0, 2, 3], [0, 3, 1], [0, 1, 2], [1, 3, 2]]).unsqueeze(0)
writer.add_mesh(
    "my_mesh",
    vertices=vertices_tensor.float(),
    colors=colors_tensor.int(),
    faces=faces_tensor.int(),
)
writer.close()

writer = SummaryWriter("graph")
writer.add_graph(torch.nn.Sequential(torch.nn.Linear(4, 3), torch.nn.ReLU()), torch.zeros(1, 4))
layout = {
    "Taiwan": {"twse": ["Multiline", ["twse/0050", "twse/2330"]]},
    "USA": {
        "dow": ["Margin", ["dow/aaa", "dow/bbb", "dow/ccc"]],
        "nasdaq": ["Margin", ["nasdaq/aaa", "nasdaq/bbb", "nasdaq/ccc"]],
    },
}
writer.add_custom_scalars(layout)
writer.close()

with SummaryWriter("hparams") as w:
    for i in range(5):
        w.add_hparams(
            {"lr": 0.1 * i, "bsize": i}, {"hparam/accuracy": 10 * i, "hparam/loss": 10 * i}
        )
