"""The demo's training: a small network learns two spirals, once per setting and seed."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from runfold._conventions import DEMO_SUFFIX
from runfold._log.track.tracker import Tracker

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

STEPS = 1200
BATCH = 128
HIDDEN = 48
PIXELS = 64


def spirals(count: int, random: np.random.Generator) -> tuple[Floats, NDArray[np.intp]]:
    """Return noisy points on two spirals, and the spiral that each point is on."""
    which = random.integers(0, 2, count)
    turn = np.sqrt(random.random(count)) * 2.5 * np.pi
    angle = turn + np.pi * which
    points = np.stack([np.cos(angle), np.sin(angle)], axis=1) * (turn / 8)[:, None]
    return points + random.normal(0, 0.02, (count, 2)), which


class Network:
    """Two tanh layers and a softmax, trained by gradient descent with momentum."""

    def __init__(self, random: np.random.Generator) -> None:
        sizes = [2, HIDDEN, HIDDEN, 2]
        self.weights = [
            random.normal(0, 1.5 / np.sqrt(rows), (rows, columns))
            for rows, columns in pairwise(sizes)
        ]
        self.biases = [np.zeros(columns) for columns in sizes[1:]]
        self._speeds = [np.zeros_like(values) for values in (*self.weights, *self.biases)]

    def layers(self, points: Floats) -> list[Floats]:
        """Return the output of each layer, from the input to the logits."""
        outputs = [points]
        for number, (weight, bias) in enumerate(zip(self.weights, self.biases, strict=True)):
            output = outputs[-1] @ weight + bias
            outputs.append(output if number == len(self.weights) - 1 else np.tanh(output))
        return outputs

    def learn(self, points: Floats, which: NDArray[np.intp], rate: float) -> tuple[float, float]:
        """Take one training step; return the loss before the step and the norm of the gradient."""
        layers = self.layers(points)
        share = softmax(layers[-1])
        rows = np.arange(len(which))
        loss = float(-np.log(share[rows, which] + 1e-12).mean())
        share[rows, which] -= 1
        delta = share / len(which)
        steep: list[Floats] = []
        flat: list[Floats] = []
        for number in reversed(range(len(self.weights))):
            steep.insert(0, layers[number].T @ delta)
            flat.insert(0, delta.sum(axis=0))
            delta = (delta @ self.weights[number].T) * (1 - layers[number] ** 2)
        gradients = [*steep, *flat]
        for values, speed, gradient in zip(
            [*self.weights, *self.biases], self._speeds, gradients, strict=True
        ):
            speed *= 0.9
            speed -= rate * gradient
            values += speed
        return loss, float(np.sqrt(sum((gradient**2).sum() for gradient in gradients)))

    def score(self, points: Floats, which: NDArray[np.intp]) -> tuple[float, float]:
        """Return the loss and accuracy on the given points."""
        share = softmax(self.layers(points)[-1])
        loss = float(-np.log(share[np.arange(len(which)), which] + 1e-12).mean())
        return loss, float((share.argmax(axis=1) == which).mean())


def softmax(logits: Floats) -> Floats:
    """Return the softmax of each row."""
    grown = np.exp(logits - logits.max(axis=1, keepdims=True))
    shares: Floats = grown / grown.sum(axis=1, keepdims=True)
    return shares


def train(folder: str, rate: float, seed: int) -> float:
    """Train one run, log it to a folder, and return its last validation accuracy."""
    random = np.random.default_rng(seed)
    # All runs train and validate on the same points; the seed affects everything else.
    data = np.random.default_rng(0)
    points, which = spirals(1000, data)
    held_points, held_which = spirals(1000, data)
    network = Network(random)
    accuracy = 0.0
    settings = {"lr": rate, "seed": seed, "hidden": HIDDEN}
    # A run takes about a second, too short for useful system metrics.
    with Tracker(folder, hparams=settings, system=False, filename_suffix=DEMO_SUFFIX) as run:
        run.add_text("note", f"Two spirals, lr {rate:g}, seed {seed}, {STEPS} steps.")
        for step in range(STEPS + 1):
            batch = random.integers(0, len(points), BATCH)
            loss, size = network.learn(points[batch], which[batch], rate)
            run.log({"train/loss": loss, "train/grad_norm": size}, step)
            if step % 20 == 0:
                held_loss, accuracy = network.score(held_points, held_which)
                run.log({"val/loss": held_loss, "val/accuracy": accuracy}, step)
            if step % 200 == 0:
                for number, weight in enumerate(network.weights, start=1):
                    run.add_histogram(f"weights/layer-{number}", weight, step)
            if step % 400 == 0:
                picture = _boundary(network, held_points, held_which)
                run.add_image("boundary", picture, step, dataformats="HWC")
    return accuracy


def _boundary(network: Network, points: Floats, which: NDArray[np.intp]) -> NDArray[np.uint8]:
    """Return a picture of the network's predictions, with the points on top."""
    ticks = np.linspace(-1.1, 1.1, PIXELS)
    across, down = np.meshgrid(ticks, -ticks)
    share = softmax(network.layers(np.stack([across.ravel(), down.ravel()], axis=1))[-1])
    ends = np.array([[66, 133, 190], [224, 130, 60]])
    picture = (share @ ends).reshape(PIXELS, PIXELS, 3)
    pixels = np.clip(((points * [1, -1] + 1.1) / 2.2 * PIXELS).astype(int), 0, PIXELS - 1)
    picture[pixels[:, 1], pixels[:, 0]] = ends[which] * 0.45
    picture_bytes: NDArray[np.uint8] = picture.astype(np.uint8)
    return picture_bytes
