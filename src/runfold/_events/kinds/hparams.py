"""Hyperparameters: the experiment's plan, and the start and end of a run's session."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

from runfold._events.kinds import stored_value

if TYPE_CHECKING:
    from google.protobuf import struct_pb2
    from tensorboard.plugins.hparams import api_pb2, plugin_data_pb2

TYPES = {1: "string", 2: "bool", 3: "float64"}
DATASETS = {1: "training", 2: "validation"}
STATUSES = {1: "success", 2: "failure", 3: "running"}


@dataclass(frozen=True, slots=True)
class Interval:
    """The range from which a hyperparameter is drawn."""

    min: float
    max: float


@dataclass(frozen=True, slots=True)
class HParam:
    """A hyperparameter: its type (string, bool, float64 or None) and its domain."""

    name: str
    display_name: str
    description: str
    type: str | None
    domain: Interval | tuple[Any, ...] | None


@dataclass(frozen=True, slots=True)
class Metric:
    """A metric for comparing runs: a tag in the run's sub-folder `group`."""

    group: str
    tag: str
    display_name: str
    description: str
    dataset: str | None


@dataclass(frozen=True, slots=True)
class Experiment:
    """The hyperparameters and metrics of an experiment."""

    name: str
    description: str
    user: str
    time_created: float
    hparams: tuple[HParam, ...]
    metrics: tuple[Metric, ...]


@dataclass(frozen=True, slots=True)
class SessionStart:
    """The hyperparameters of a run, sorted by name, as bool, float or str."""

    hparams: dict[str, Any]
    group_name: str
    model_uri: str
    monitor_url: str
    start_time: float


@dataclass(frozen=True, slots=True)
class SessionEnd:
    """The status of a finished run: success, failure, running or unknown."""

    status: str
    end_time: float


HParams: TypeAlias = Experiment | SessionStart | SessionEnd


def decode(value: bytes) -> HParams:
    """Return the experiment, session start or session end in the value's metadata.

    Times are in seconds since 1970, or 0.0 if the writer stored none. Numbers are
    floats, because the format has no integers.
    """
    from google.protobuf.message import DecodeError
    from tensorboard.plugins.hparams import plugin_data_pb2

    content = stored_value.parse(value).content
    try:
        data = plugin_data_pb2.HParamsPluginData.FromString(content)
    except DecodeError:
        raise ValueError("the hyperparameters are not an HParamsPluginData message") from None
    which = data.WhichOneof("data")
    if which == "experiment":
        return _experiment(data.experiment)
    if which == "session_start_info":
        return _session_start(data.session_start_info)
    if which == "session_end_info":
        end = data.session_end_info
        return SessionEnd(STATUSES.get(end.status, "unknown"), end.end_time_secs)
    raise ValueError("the value contains no hyperparameters")


def _experiment(proto: "api_pb2.Experiment") -> Experiment:
    return Experiment(
        proto.name,
        proto.description,
        proto.user,
        proto.time_created_secs,
        tuple(_hparam(info) for info in proto.hparam_infos),
        tuple(_metric(info) for info in proto.metric_infos),
    )


def _hparam(info: "api_pb2.HParamInfo") -> HParam:
    domain: Interval | tuple[Any, ...] | None = None
    which = info.WhichOneof("domain")
    if which == "domain_discrete":
        domain = tuple(_plain(value) for value in info.domain_discrete.values)
    elif which == "domain_interval":
        domain = Interval(info.domain_interval.min_value, info.domain_interval.max_value)
    return HParam(info.name, info.display_name, info.description, TYPES.get(info.type), domain)


def _metric(info: "api_pb2.MetricInfo") -> Metric:
    return Metric(
        info.name.group,
        info.name.tag,
        info.display_name,
        info.description,
        DATASETS.get(info.dataset_type),
    )


def _session_start(proto: "plugin_data_pb2.SessionStartInfo") -> SessionStart:
    # The order of protobuf maps differs between processes.
    hparams = {name: _plain(proto.hparams[name]) for name in sorted(proto.hparams)}
    return SessionStart(
        hparams, proto.group_name, proto.model_uri, proto.monitor_url, proto.start_time_secs
    )


def _plain(value: "struct_pb2.Value") -> Any:
    """Convert a protobuf value to a Python value; the parser has limited its depth."""
    which = value.WhichOneof("kind")
    if which == "struct_value":
        inside = value.struct_value.fields
        return {name: _plain(inside[name]) for name in sorted(inside)}
    if which == "list_value":
        return [_plain(element) for element in value.list_value.values]
    if which is None or which == "null_value":
        return None
    return getattr(value, which)
