"""poutyne: a model fitted twice; its callbacks log with `add_scalars` and close the writer."""

import numpy as np
import torch
from poutyne import Model, TensorBoardGradientTracker, TensorBoardLogger
from torch.utils.tensorboard import SummaryWriter

torch.manual_seed(1)
np.random.seed(1)
inputs = np.random.default_rng(1).normal(size=(40, 4)).astype("float32")
targets = inputs.sum(1, keepdims=True)
model = Model(torch.nn.Linear(4, 1), "sgd", "mse", device="cpu")
writer = SummaryWriter("logs")
for split in (True, False):
    model.fit(
        inputs,
        targets,
        validation_data=(inputs, targets),
        epochs=3,
        callbacks=[TensorBoardLogger(writer, split_train_val=split)],
        verbose=False,
    )
model.fit(inputs, targets, epochs=2, callbacks=[TensorBoardGradientTracker(writer)], verbose=False)
writer.close()
