"""Images, clips and texts in a log, as TensorBoard's EventAccumulator reads them."""

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
    """Return all values in a log."""
    return EventAccumulator(str(folder), dict.fromkeys(("images", "audio", "tensors"), 0)).Reload()


def written(writer_class: Callable[..., Any], folder: Path, write: Callable[[Any], object]) -> Any:
    """Return the log that a writer writes during `write(writer)`."""
    with writer_class(str(folder)) as writer:
        write(writer)
    return read(folder)


def both(folder: Path, write: Callable[[Any], object]) -> tuple[Any, Any]:
    """Return the logs that Runfold's and torch's writers write for the same call."""
    ours = written(rf.SummaryWriter, folder / "runfold", write)
    return ours, written(TorchWriter, folder / "torch", write)


def pixels(data: bytes) -> np.ndarray:
    """Return the pixels of an encoded image."""
    return np.asarray(PIL.Image.open(io.BytesIO(data)))


def picture(log: EventAccumulator, tag: str = "p") -> tuple[int, int, int, np.ndarray]:
    """Return the claimed height, width and channels of a tag's last image, and its pixels."""
    values = [value for event in events(Path(log.path)) for value in event.summary.value]
    channels = [value.image.colorspace for value in values if value.tag == tag]
    last = log.Images(tag)[-1]
    return last.height, last.width, channels[-1], pixels(last.encoded_image_string)


def assert_same_picture(folder: Path, write: Callable[[Any], object]) -> None:
    """Check that Runfold's writer and torch's log the same image under the tag `p`."""
    ours, theirs = (picture(log) for log in both(folder, write))
    assert ours[:3] == theirs[:3]
    np.testing.assert_array_equal(ours[3], theirs[3])
