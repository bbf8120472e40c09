"""The contents of TensorBoard's HParams page and of Runfold's table."""

from pathlib import Path
from typing import Any

from tensorboard import context
from tensorboard.plugins.hparams import api_pb2, get_experiment, list_session_groups
from tensorboard.plugins.hparams.backend_context import Context

import runfold as rf
from helpers.tensorboard_readers import page


def shown(source: Any) -> tuple[Any, dict[str, Any]]:
    """Return the experiment and its session groups by name, from a data provider."""
    request, backend = context.RequestContext(), page(Context, source)
    plan = get_experiment.Handler(request, backend, "", api_pb2.GetExperimentRequest()).run()
    groups_request = api_pb2.ListSessionGroupsRequest(slice_size=100, allowed_statuses=range(4))
    groups = list_session_groups.Handler(request, backend, "", groups_request).run().session_groups
    return plan, {group.name: group for group in groups}


def settings(group: Any) -> dict[str, Any]:
    """Return the hparams of a session group."""
    return {name: getattr(value, value.WhichOneof("kind")) for name, value in group.hparams.items()}


def read(folder: Path) -> dict[str, Any]:
    """Return the hparams, by name, of the only run in a folder, as Runfold reads them."""
    table = rf.open(folder).hparams()
    return dict(zip(table["hparam"], table["value"], strict=True))
