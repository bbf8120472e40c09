"""What a log holds of pictures, clips and texts, as TensorBoard's EventAccumulator gives it."""

import io
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import PIL.Image
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
from torch.utils.tensorboard import SummaryWriter as TorchWriter

import runfold as rf
from helpers.kind_values import events


def read(folder: Path) -> EventAccumulator:
    """All values of a log."""
    return EventAccumulator(str(folder), dict.fromkeys(("images", "audio", "tensors"), 0)).Reload()


def written(writer_class: Callable[..., Any], folder: Path, write: Callable[[Any], object]) -> Any:
    """The log that a writer leaves when `write(writer)` is called."""
    with writer_class(str(folder)) as writer:
        write(writer)
    return read(folder)


def both(folder: Path, write: Callable[[Any], object]) -> tuple[Any, Any]:
    """The logs that Runfold's writer and torch's leave for the same call."""
    ours = written(rf.SummaryWriter, folder / "runfold", write)
    return ours, written(TorchWriter, folder / "torch", write)


def pixels(data: bytes) -> np.ndarray:
    """The pixels of an encoded picture."""
    return np.asarray(PIL.Image.open(io.BytesIO(data)))


def picture(log: EventAccumulator, tag: str = "p") -> tuple[int, int, int, np.ndarray]:
    """Height, width and channels that the last picture of a tag claims, and its pixels."""
    values = [value for event in events(Path(log.path)) for value in event.summary.value]
    channels = [value.image.colorspace for value in values if value.tag == tag]
    found = log.Images(tag)[-1]
    return found.height, found.width, channels[-1], pixels(found.encoded_image_string)


def assert_same_picture(folder: Path, write: Callable[[Any], object]) -> None:
    """Runfold's writer and torch's log the same picture under the tag `p`."""
    ours, theirs = (picture(log) for log in both(folder, write))
    assert ours[:3] == theirs[:3]
    np.testing.assert_array_equal(ours[3], theirs[3])
