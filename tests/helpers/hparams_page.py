"""What TensorBoard's HParams page shows, and what Runfold's table holds."""

from pathlib import Path
from typing import Any

from tensorboard import context
from tensorboard.plugins.hparams import api_pb2, get_experiment, list_session_groups
from tensorboard.plugins.hparams.backend_context import Context

import runfold as rf
from helpers.tensorboard_readers import page


def shown(source: Any) -> tuple[Any, dict[str, Any]]:
    """The experiment, and its groups of sessions by name, from a data provider."""
    request, backend = context.RequestContext(), page(Context, source)
    plan = get_experiment.Handler(request, backend, "", api_pb2.GetExperimentRequest()).run()
    asked = api_pb2.ListSessionGroupsRequest(slice_size=100, allowed_statuses=range(4))
    groups = list_session_groups.Handler(request, backend, "", asked).run().session_groups
    return plan, {one.name: one for one in groups}


def settings(group: Any) -> dict[str, Any]:
    """The hparams of a group of sessions."""
    return {name: getattr(value, value.WhichOneof("kind")) for name, value in group.hparams.items()}


def read(folder: Path) -> dict[str, Any]:
    """The hparams of the one run in a folder, by name, as Runfold reads them."""
    table = rf.open(folder).hparams()
    return dict(zip(table["hparam"], table["value"], strict=True))
