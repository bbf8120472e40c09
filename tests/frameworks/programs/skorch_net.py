"""skorch: fit, pickle and copy the net, then fit it again and partially."""

import copy
import pickle

import numpy as np
import torch
from skorch import NeuralNetRegressor
from skorch.callbacks import TensorBoard
from torch.utils.tensorboard import SummaryWriter


class Board(TensorBoard):
    def on_epoch_end(self, net, **kwargs):
        epoch = net.history[-1, "epoch"]
        self.writer.add_histogram("bias", net.module_.bias, global_step=epoch)
        super().on_epoch_end(net, **kwargs)


def main():
    torch.manual_seed(1)
    inputs = np.random.default_rng(1).normal(size=(40, 4)).astype("float32")
    targets = inputs.sum(1, keepdims=True)
    net = NeuralNetRegressor(
        torch.nn.Linear,
        module__in_features=4,
        module__out_features=1,
        max_epochs=3,
        lr=0.05,
        callbacks=[Board(SummaryWriter("logs"))],
        verbose=0,
    )
    net.fit(inputs, targets)
    net.partial_fit(inputs, targets)
    for again in (pickle.loads(pickle.dumps(net)), copy.deepcopy(net)):
        assert np.array_equal(again.predict(inputs), net.predict(inputs))
        again.set_params(max_epochs=1)
        again.partial_fit(inputs, targets)


if __name__ == "__main__":
    main()
