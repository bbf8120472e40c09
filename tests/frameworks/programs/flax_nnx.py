"""A Flax NNX model in a plain loop that `rf.track` tracks, stopped, killed and resumed.

The argument `original` also logs with Flax's own writer, which needs TensorFlow. Without it,
TensorFlow cannot be imported.
"""

import contextlib
import os
import pickle
import signal
import subprocess
import sys
import threading

import jax
import jax.numpy as jnp
import optax
from flax import nnx

import runfold as rf

OPTIONS = {"system": False, "code": False}
EPOCHS = 6


class Net(nnx.Module):
    """Two dense layers."""

    def __init__(self, width, rngs):
        self.first = nnx.Linear(3, width, rngs=rngs)
        self.last = nnx.Linear(width, 1, rngs=rngs)

    def __call__(self, inputs):
        return self.last(nnx.relu(self.first(inputs)))


@nnx.jit
def train_step(model, optimizer, inputs, targets):
    """Update the model, and return the loss before the update."""

    def compute_loss(model):
        return ((model(inputs) - targets) ** 2).mean()

    loss, gradients = nnx.value_and_grad(compute_loss)(model)
    optimizer.update(model, gradients)
    return loss


def make_data(seed=0):
    inputs = jax.random.uniform(jax.random.key(seed), (32, 3))
    return inputs, inputs.sum(axis=1, keepdims=True)


def train(folder, rate=0.1, seed=0, resume=False, at=None, also=None, checkpoint=None):
    """Train for some epochs; call a function with the run at the end of an epoch."""
    model = Net(8, nnx.Rngs(seed))
    optimizer = nnx.Optimizer(model, optax.sgd(rate, momentum=0.9), wrt=nnx.Param)
    first = 0
    if resume:
        with open(checkpoint, "rb") as file:
            first, weights, moments = pickle.load(file)
        nnx.update(model, weights)
        nnx.update(optimizer, moments)
    hparams = {"rate": rate, "seed": seed}
    with rf.track(folder, hparams, resume=resume, **OPTIONS) as run:
        for epoch in range(first, EPOCHS):
            loss = train_step(model, optimizer, *make_data(seed))
            run.log({"train/loss": loss}, epoch)
            run.add_histogram("weights/first", model.first.kernel[...], epoch)
            if also is not None:
                also(epoch, loss)
            if checkpoint is not None and epoch == 2:
                state = epoch + 1, nnx.state(model), nnx.state(optimizer)
                with open(checkpoint, "wb") as file:
                    pickle.dump(jax.device_get(state), file)
                run.save(checkpoint)
            if at is not None and epoch == at[0]:
                at[1](run)


def kill_self(run):
    run.flush()
    os.kill(os.getpid(), signal.SIGKILL)


def kill_and_resume():
    ended = subprocess.run([sys.executable, __file__, "killed"], stderr=subprocess.PIPE, text=True)
    assert ended.returncode == -signal.SIGKILL, ended.stderr
    train("logs/killed", resume=True, checkpoint="checkpoint.pkl")
    train("logs/not-killed")


def stop():
    def request_stop(run):
        rf.stop(run.log_dir, reason="enough", wait=False)
        threading.Event().wait(60)  # until KeyboardInterrupt

    with contextlib.suppress(KeyboardInterrupt):
        train("logs/stopped", at=(1, request_stop))


def log_with_original():
    from flax.metrics import tensorboard

    writer = tensorboard.SummaryWriter("logs/original")
    train("logs/both", also=lambda epoch, loss: writer.scalar("train/loss", loss, epoch))
    writer.close()


def main():
    sys.modules["tensorflow"] = None
    kill_and_resume()
    stop()
    for rate in (0.1, 0.01):
        for seed in (0, 1):
            train(f"logs/sweep/{rate}-{seed}", rate, seed)

    def raise_error(run):
        run.log({"nan": jnp.nan, "vector": jnp.ones(2)}, 1)
        raise ValueError("the data is gone")

    with contextlib.suppress(ValueError):
        train("logs/failed", at=(1, raise_error))


if __name__ == "__main__":
    if sys.argv[1:] == ["original"]:
        log_with_original()
    elif sys.argv[1:] == ["killed"]:
        train("logs/killed", at=(4, kill_self), checkpoint="checkpoint.pkl")
    else:
        main()
