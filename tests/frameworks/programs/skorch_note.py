"""skorch: a history that contains a dict, which torch's writer rejects and skorch then skips."""

import numpy as np
import torch
from skorch import NeuralNetRegressor
from skorch.callbacks import Callback, TensorBoard
from torch.utils.tensorboard import SummaryWriter


class Note(Callback):
    def on_epoch_end(self, net, **kwargs):
        net.history.record("note", {"state": "good"})


torch.manual_seed(1)
inputs = np.random.default_rng(1).normal(size=(40, 4)).astype("float32")
net = NeuralNetRegressor(
    torch.nn.Linear,
    module__in_features=4,
    module__out_features=1,
    max_epochs=3,
    callbacks=[Note(), TensorBoard(SummaryWriter("logs"), keys_ignored="dur")],
    verbose=0,
)
net.fit(inputs, inputs.sum(1, keepdims=True))
