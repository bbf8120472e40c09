"""Data that RunfoldCallback reads from a Keras model: configuration, rates, layers and weights."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import keras
import numpy as np
from keras import ops

from runfold._warnings import warn_caller

if TYPE_CHECKING:
    from numpy.typing import NDArray

# TensorBoard draws the layers of these models only.
_DRAWN_MODELS = ("Functional", "Sequential")


def describe_training(model: Any, params: Any) -> dict[str, Any]:
    """Return the backend, the model's name, optimizer and loss, and the arguments of `fit`."""
    config: dict[str, Any] = {"backend": keras.config.backend()}
    if model is not None:
        config |= {"model": _name_model(model), **_describe_optimizer(model)}
        config["loss"] = _name_loss(getattr(model, "loss", None))
    for name in ("epochs", "steps"):
        config[name] = params.get(name) if isinstance(params, Mapping) else None
    return {name: value for name, value in config.items() if value is not None}


def find_optimizer(model: Any) -> Any:
    """Return the model's optimizer; None if the model is not compiled."""
    return getattr(model, "optimizer", None)


def _name_model(model: Any) -> Any:
    """Return the model's name, without the number that Keras adds to its own names."""
    name = getattr(model, "name", None)
    return re.sub(r"_\d+$", "", name) if isinstance(name, str) else name


def _describe_optimizer(model: Any) -> dict[str, Any]:
    # `optimizer.name` can contain the number of optimizers so far, as in `sgd_1`.
    optimizer = find_optimizer(model)
    name = None if optimizer is None else type(optimizer).__name__
    try:
        settings = dict(optimizer.get_config())
    except Exception:  # not compiled, or a custom optimizer without settings
        return {"optimizer": name}
    rate = settings.get("learning_rate")
    if isinstance(rate, float):
        settings["learning_rate"] = float(str(np.float32(rate)))  # 0.1, not 0.10000000149011612
    return {**settings, "name": None, "optimizer": name}


def _name_loss(loss: Any) -> Any:
    if loss is None or isinstance(loss, str | list | tuple | dict):
        return loss
    return getattr(loss, "name", None) or getattr(loss, "__name__", str(loss))


def count_iterations(model: Any) -> int:
    """Return the number of optimizer iterations; 0 for a model that is not compiled."""
    iterations = getattr(find_optimizer(model), "iterations", None)
    return 0 if iterations is None else int(ops.convert_to_numpy(iterations))


def count_batches(model: Any) -> int:
    """Return the number of training batches before this one, as Keras's callbacks count them."""
    accumulated = getattr(find_optimizer(model), "gradient_accumulation_steps", None) or 1
    per_call = getattr(model, "steps_per_execution", None) or 1
    return int(count_iterations(model) * accumulated // per_call)


def read_learning_rates(model: Any) -> dict[str, float]:
    """Return the current learning rate, or one per optimizer of a combined optimizer."""
    optimizer = find_optimizer(model)
    optimizer = getattr(optimizer, "inner_optimizer", optimizer)  # if it scales the loss
    parts = getattr(optimizer, "optimizers", None)
    if parts is not None:
        return {f"learning_rate_{part.name}": _read_number(part.learning_rate) for part in parts}
    rate = getattr(optimizer, "learning_rate", None)
    return {} if rate is None else {"learning_rate": _read_number(rate)}


def _read_number(value: Any) -> float:
    return float(ops.convert_to_numpy(value))


def encode_layers(model: Any) -> str | None:
    """Return the model's layers as JSON; None if TensorBoard cannot draw them."""
    if type(model).__name__ not in _DRAWN_MODELS:
        return None
    try:
        return str(model.to_json())
    except Exception as error:  # a layer without `get_config`
        warn_caller(f"The model's graph was not logged: {type(error).__name__}: {error}")
        return None


def draw_weight(weight: NDArray[Any]) -> NDArray[Any] | None:
    """Return a weight as gray images, shape (images, height, width, 1); None if it cannot be drawn.

    A vector becomes one row of pixels, a matrix becomes one image whose longer side is
    horizontal, and an array with three axes becomes one image per channel, as in Keras's
    callback.
    """
    array = np.squeeze(weight)
    if array.ndim == 1:
        return array.reshape(1, -1, 1, 1)
    if array.ndim == 2:
        wide = array.T if array.shape[0] > array.shape[1] else array
        return wide[None, :, :, None]
    if array.ndim == 3:
        is_last = keras.config.image_data_format() == "channels_last"
        return (array.transpose(2, 0, 1) if is_last else array)[..., None]
    return array if array.ndim == 4 and array.shape[-1] in (1, 3, 4) else None


def read_labels(given: Any, folder: str) -> tuple[Any, list[str] | None]:
    """Return the labels of an embedding, and the names of their columns if there are several.

    A path is relative to `folder` or the current folder. Other labels are returned unchanged.
    """
    if not isinstance(given, str | os.PathLike):
        return given, None
    paths = (os.path.join(folder, given), os.fspath(given))
    path = next(filter(os.path.exists, paths), paths[-1])
    try:
        with open(path, encoding="utf-8") as file:
            rows = [line.rstrip("\n").split("\t") for line in file]
    except (OSError, UnicodeError) as error:
        warn_caller(f"embeddings_metadata: {error}. The embedding is logged without labels.")
        return None, None
    if rows and len(rows[0]) > 1:
        return rows[1:], rows[0]
    return [row[0] for row in rows], None
