"""All results of a TensorBoard accumulator, in a form that tests can compare."""

import dataclasses
from collections.abc import Callable
from pathlib import Path
from typing import Any

from google.protobuf.message import Message
from tensorboard.backend.event_processing import event_accumulator, event_multiplexer

from runfold.compat import tensorboard as compat

EVERYTHING = event_accumulator.STORE_EVERYTHING_SIZE_GUIDANCE

_BY_TAG = {
    "scalars": "Scalars",
    "histograms": "Histograms",
    "distributions": "CompressedHistograms",
    "images": "Images",
    "audio": "Audio",
    "tensors": "Tensors",
    "run_metadata": "RunMetadata",
}
_ALONE = ("Graph", "MetaGraph", "FirstEventTimestamp", "GetSourceWriter")
_PLUGINS = ("scalars", "images", "hparams", "text", "")


def pair(path: Path | str, sizes: dict[str, int] | None = None, **options: Any) -> tuple[Any, Any]:
    """Return TensorBoard's and Runfold's accumulators for the same files, unlimited by default."""
    theirs = event_accumulator.EventAccumulator(str(path), sizes or EVERYTHING, **options)
    return theirs, compat.EventAccumulator(str(path), sizes, **options)


def pair_of_multiplexers(**options: Any) -> tuple[Any, Any]:
    """Return TensorBoard's and Runfold's multiplexers, without runs."""
    theirs = event_multiplexer.EventMultiplexer(size_guidance=EVERYTHING, **options)
    return theirs, compat.EventMultiplexer(**options)


def read_answers(accumulator: Any) -> dict[str, Any]:
    """Return the results of every method of an accumulator."""
    tags = accumulator.Tags()
    answers: dict[str, Any] = {"Tags": tags}
    for kind, method in _BY_TAG.items():
        for tag in tags[kind]:
            answers[f"{method} {tag}"] = answer(getattr(accumulator, method), tag)
        answers[method] = answer(getattr(accumulator, method), "no such tag")
    for method in _ALONE:
        answers[method] = answer(getattr(accumulator, method))
    for plugin in _PLUGINS:
        answers[f"plugin {plugin}"] = answer(accumulator.PluginTagToContent, plugin)
    for tag, metadata in accumulator.summary_metadata.items():
        answers[f"metadata {tag}"] = plain(metadata), answer(accumulator.SummaryMetadata, tag)
    for name in ("file_version", "most_recent_step", "most_recent_wall_time"):
        answers[name] = getattr(accumulator, name)
    return answers


def answer(method: Callable[..., Any], *args: Any) -> Any:
    """Return the result of a call, or the error it raises with the start of its message."""
    try:
        return plain(method(*args))
    except (KeyError, ValueError) as error:
        return type(error), str(error.args[0]).split(". ")[0]


def plain(value: Any) -> Any:
    """Return a value with comparable parts: NaN equals NaN, and messages are bytes."""
    if dataclasses.is_dataclass(value):
        fields = {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
        return type(value), plain(fields)
    if isinstance(value, Message):
        return type(value), value.SerializeToString(deterministic=True)
    if isinstance(value, dict):
        return {key: plain(entry) for key, entry in value.items()}
    if isinstance(value, list | tuple):
        return [plain(entry) for entry in value]
    return (type(value), repr(value))
