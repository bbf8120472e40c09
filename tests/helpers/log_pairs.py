"""The same calls to Runfold's writer and to a peer's, and the logs as TensorBoard reads them."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from tensorboard import context
from tensorboard.data.provider import RunTagFilter
from torch.utils.tensorboard import SummaryWriter

from helpers.kind_values import stored
from helpers.log_runs import strict_writer
from helpers.tensorboard_readers import provider

OURS, PEERS = "ours", "peers"


def write_both(folder: Path, write: Callable[[Any], None], peer: Any = SummaryWriter) -> None:
    """Call `write(writer)` with both writers, in separate runs."""
    for name, writer_class in ((OURS, strict_writer), (PEERS, peer)):
        with writer_class(str(folder / name)) as writer:
            write(writer)


def assert_stored_alike(folder: Path) -> dict[str, list[bytes]]:
    """Check that both writers stored the same values, byte for byte, and return the values."""
    ours, peers = stored(folder / OURS), stored(folder / PEERS)
    assert list(ours) == list(peers)
    assert [tag for tag in ours if ours[tag] != peers[tag]] == []
    return ours


def read_tensors(reader: str, logdir: Path, plugin: str) -> dict[str, dict[str, list[Any]]]:
    """Return a plugin's points by run and tag, as (step, wall_time, nested lists)."""
    with provider(reader, logdir) as source:
        tensors = source.read_tensors(
            context.RequestContext(),
            experiment_id="",
            plugin_name=plugin,
            downsample=1000,
            run_tag_filter=RunTagFilter(),
        )
        return {
            run: {
                tag: [(point.step, point.wall_time, point.numpy.tolist()) for point in points]
                for tag, points in tags.items()
            }
            for run, tags in tensors.items()
        }
