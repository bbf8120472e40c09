"""All that an accumulator of TensorBoard tells, in a form that tests can compare."""

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
    """TensorBoard's accumulator and Runfold's over the same files; all is kept unless told."""
    theirs = event_accumulator.EventAccumulator(str(path), sizes or EVERYTHING, **options)
    return theirs, compat.EventAccumulator(str(path), sizes, **options)


def pair_of_multiplexers(**options: Any) -> tuple[Any, Any]:
    """TensorBoard's multiplexer and Runfold's, without runs."""
    theirs = event_multiplexer.EventMultiplexer(size_guidance=EVERYTHING, **options)
    return theirs, compat.EventMultiplexer(**options)


def told(accumulator: Any) -> dict[str, Any]:
    """What an accumulator answers to every question there is."""
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
    """What a call gives, or which error it raises; of its message what comes first."""
    try:
        return plain(method(*args))
    except (KeyError, ValueError) as error:
        return type(error), str(error.args[0]).split(". ")[0]


def plain(value: Any) -> Any:
    """A value in which equal parts are equal, NaN too, and messages are bytes."""
    if dataclasses.is_dataclass(value):
        fields = {one.name: getattr(value, one.name) for one in dataclasses.fields(value)}
        return type(value), plain(fields)
    if isinstance(value, Message):
        return type(value), value.SerializeToString(deterministic=True)
    if isinstance(value, dict):
        return {key: plain(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [plain(one) for one in value]
    return (type(value), repr(value))
