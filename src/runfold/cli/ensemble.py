"""The demo's training: a small network learns two spirals, once for each setting and seed.

The logs are made with Runfold's own encoder, in the form that torch writes.
"""

from __future__ import annotations

import io
import os
import time
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from runfold.core.encoder import EventBuffer
from runfold.events import values

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

STEPS = 1200
BATCH = 128
HIDDEN = 48
PIXELS = 64
FILE_SUFFIX = ".runfold-demo"


class RunWriter:
    """One event file, written from the start; `close` flushes it to the disk."""

    def __init__(self, folder: str) -> None:
        os.makedirs(folder, exist_ok=True)
        name = f"events.out.tfevents.{int(time.time()):010d}{FILE_SUFFIX}"
        self._file = open(os.path.join(folder, name), "wb")  # noqa: SIM115  closed by close()
        self._buffer = EventBuffer()
        self._buffer.file_version(time.time())

    def scalars(self, step: int, **named: float) -> None:
        """Add a point to each tag; `__` in a name stands for `/`."""
        now = time.time()
        for name, value in named.items():
            self._buffer.scalar(name.replace("__", "/"), value, step, now)

    def value(self, message: bytes, step: int = 0) -> None:
        """Add a value of any other kind."""
        self._buffer.value(message, step, time.time())

    def flush(self) -> None:
        """Write what was added so far, in whole records."""
        self._file.write(self._buffer.getvalue())
        self._file.flush()
        self._buffer.clear()

    def close(self) -> None:
        """Write the rest."""
        self.flush()
        self._file.close()


def spirals(count: int, random: np.random.Generator) -> tuple[Floats, NDArray[np.intp]]:
    """Points on two spirals with some noise, and which spiral each is on."""
    which = random.integers(0, 2, count)
    turn = np.sqrt(random.random(count)) * 2.5 * np.pi
    angle = turn + np.pi * which
    points = np.stack([np.cos(angle), np.sin(angle)], axis=1) * (turn / 8)[:, None]
    return points + random.normal(0, 0.02, (count, 2)), which


class Network:
    """Two hidden layers of tanh and a softmax, trained by gradient descent with momentum."""

    def __init__(self, random: np.random.Generator) -> None:
        sizes = [2, HIDDEN, HIDDEN, 2]
        self.weights = [
            random.normal(0, 1.5 / np.sqrt(rows), (rows, columns))
            for rows, columns in pairwise(sizes)
        ]
        self.biases = [np.zeros(columns) for columns in sizes[1:]]
        self._speeds = [np.zeros_like(one) for one in (*self.weights, *self.biases)]

    def layers(self, points: Floats) -> list[Floats]:
        """What each layer gives, the input first and the logits last."""
        found = [points]
        for number, (weight, bias) in enumerate(zip(self.weights, self.biases, strict=True)):
            out = found[-1] @ weight + bias
            found.append(out if number == len(self.weights) - 1 else np.tanh(out))
        return found

    def learn(self, points: Floats, which: NDArray[np.intp], rate: float) -> tuple[float, float]:
        """Make one step, and give the loss before it and the size of its gradient."""
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
        for one, speed, gradient in zip(
            [*self.weights, *self.biases], self._speeds, gradients, strict=True
        ):
            speed *= 0.9
            speed -= rate * gradient
            one += speed
        return loss, float(np.sqrt(sum((one**2).sum() for one in gradients)))

    def score(self, points: Floats, which: NDArray[np.intp]) -> tuple[float, float]:
        """The loss and the accuracy on some points."""
        share = softmax(self.layers(points)[-1])
        loss = float(-np.log(share[np.arange(len(which)), which] + 1e-12).mean())
        return loss, float((share.argmax(axis=1) == which).mean())


def softmax(logits: Floats) -> Floats:
    """Probabilities, row by row."""
    grown = np.exp(logits - logits.max(axis=1, keepdims=True))
    shares: Floats = grown / grown.sum(axis=1, keepdims=True)
    return shares


def train(folder: str, rate: float, seed: int) -> float:
    """Train one run, log it into a folder, and give its last validation accuracy."""
    random = np.random.default_rng(seed)
    # All runs learn and are scored on the same points; the seed is for the rest.
    data = np.random.default_rng(0)
    points, which = spirals(1000, data)
    held_points, held_which = spirals(1000, data)
    network = Network(random)
    writer = RunWriter(folder)
    settings = {"lr": rate, "seed": seed, "hidden": HIDDEN}
    writer.value(values.hparams_start(settings, time.time()))
    writer.value(values.text("note", f"Two spirals, lr {rate:g}, seed {seed}, {STEPS} steps."))
    accuracy = 0.0
    for step in range(STEPS + 1):
        batch = random.integers(0, len(points), BATCH)
        loss, size = network.learn(points[batch], which[batch], rate)
        writer.scalars(step, train__loss=loss, train__grad_norm=size)
        if step % 20 == 0:
            held_loss, accuracy = network.score(held_points, held_which)
            writer.scalars(step, val__loss=held_loss, val__accuracy=accuracy)
        if step % 200 == 0:
            for number, weight in enumerate(network.weights, start=1):
                writer.value(_histogram(f"weights/layer-{number}", weight), step)
        if step % 400 == 0:
            writer.value(_boundary(network, held_points, held_which), step)
            writer.flush()
    writer.value(values.hparams_end("success", time.time()))
    writer.close()
    return accuracy


def _histogram(tag: str, weight: Floats) -> bytes:
    counts, edges = np.histogram(weight, bins=30)
    return values.histogram(
        tag,
        min=float(weight.min()),
        max=float(weight.max()),
        num=weight.size,
        sum=float(weight.sum()),
        sum_squares=float((weight**2).sum()),
        limits=edges[1:],
        counts=counts,
    )


def _boundary(network: Network, points: Floats, which: NDArray[np.intp]) -> bytes:
    """A picture of what the network says everywhere, with the points on top."""
    from PIL import Image

    ticks = np.linspace(-1.1, 1.1, PIXELS)
    across, down = np.meshgrid(ticks, -ticks)
    share = softmax(network.layers(np.stack([across.ravel(), down.ravel()], axis=1))[-1])
    ends = np.array([[66, 133, 190], [224, 130, 60]])
    picture = (share @ ends).reshape(PIXELS, PIXELS, 3)
    places = np.clip(((points * [1, -1] + 1.1) / 2.2 * PIXELS).astype(int), 0, PIXELS - 1)
    picture[places[:, 1], places[:, 0]] = ends[which] * 0.45
    encoded = io.BytesIO()
    Image.fromarray(picture.astype(np.uint8)).save(encoded, "PNG")
    return values.image("boundary", PIXELS, PIXELS, 3, encoded.getvalue())
