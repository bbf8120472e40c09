"""The trials that TensorBoard's HParams page lists."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from readings import value_of
from tensorboard import context
from tensorboard.backend.event_processing.data_provider import MultiplexerDataProvider
from tensorboard.backend.event_processing.plugin_event_multiplexer import EventMultiplexer
from tensorboard.plugins.base_plugin import TBContext
from tensorboard.plugins.hparams import api_pb2, get_experiment, list_session_groups
from tensorboard.plugins.hparams.backend_context import Context

Trial = tuple[dict[str, Any], dict[str, float], int]


def list_trials(logdir: Path) -> list[Trial]:
    """Return the hparams, metrics and status of each trial on the page, in any order."""
    multiplexer = EventMultiplexer().AddRunsFromDirectory(str(logdir))
    multiplexer.Reload()
    provider = MultiplexerDataProvider(multiplexer, str(logdir))
    backend = Context(TBContext(logdir=str(logdir), data_provider=provider))
    request = context.RequestContext()
    plan = get_experiment.Handler(request, backend, "", api_pb2.GetExperimentRequest()).run()
    columns = [
        api_pb2.ColParams(hparam=info.name, include_in_result=True) for info in plan.hparam_infos
    ]
    columns += [
        api_pb2.ColParams(metric=info.name, include_in_result=True) for info in plan.metric_infos
    ]
    query = api_pb2.ListSessionGroupsRequest(
        slice_size=100, allowed_statuses=range(4), col_params=columns, include_metrics=True
    )
    groups = list_session_groups.Handler(request, backend, "", query).run().session_groups
    trials = [trial for group in groups for trial in _sessions(group)]
    return sorted(trials, key=repr)


def _sessions(group: Any) -> list[Trial]:
    """Return the trials in a group, which share their hparams."""
    hparams = {name: value_of(value) for name, value in sorted(group.hparams.items())}
    return [
        (
            hparams,
            {metric.name.tag: metric.value for metric in session.metric_values},
            session.status,
        )
        for session in group.sessions
    ]
