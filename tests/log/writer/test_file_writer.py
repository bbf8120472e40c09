"""`writer.file_writer` accepts tensorboard's and tensorboardX's messages."""

import pytest
import tensorboardX.proto.event_pb2
import tensorboardX.proto.summary_pb2
import torch
from helpers.log_runs import logged
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
from tensorboard.compat.proto import config_pb2, event_pb2, graph_pb2, summary_pb2
from torch.utils.tensorboard.summary import hparams

import runfold as rf

SUMMARIES = {
    "tensorboard": summary_pb2.Summary,
    "tensorboardX": tensorboardX.proto.summary_pb2.Summary,
}
EVENTS = {
    "tensorboard": event_pb2.Event,
    "tensorboardX": tensorboardX.proto.event_pb2.Event,
}


def read(folder) -> EventAccumulator:
    found = EventAccumulator(str(folder))
    found.Reload()
    return found


@pytest.mark.parametrize("package", SUMMARIES)
def test_a_summary_is_written_at_its_step_and_time(tmp_path, package):
    summary = SUMMARIES[package](value=[{"tag": "loss", "simple_value": 0.5}])
    with rf.SummaryWriter(tmp_path) as writer:
        writer.file_writer.add_summary(summary, 7, 123.5)
        writer._get_file_writer().add_summary(summary)
    first = read(tmp_path).Scalars("loss")[0]
    assert (first.wall_time, first.step, first.value) == (123.5, 7, 0.5)
    assert logged(tmp_path) == {7: 0.5, 0: 0.5}


@pytest.mark.parametrize("package", EVENTS)
def test_an_event_keeps_its_step_unless_one_is_given(tmp_path, package):
    def event(step: int):
        return EVENTS[package](
            step=step, wall_time=1.0, summary={"value": [{"tag": "loss", "simple_value": step}]}
        )

    with rf.SummaryWriter(tmp_path) as writer:
        writer.file_writer.add_event(event(1))
        writer.file_writer.add_event(event(2), torch.tensor(20), 200.0)
        writer.file_writer.event_writer.add_event(event(3))
        assert writer.last_step == 20
    points = read(tmp_path).Scalars("loss")
    assert [(point.step, point.value) for point in points] == [(1, 1.0), (20, 2.0), (3, 3.0)]
    # The event's own time is used only if the event is written unchanged.
    assert points[0].wall_time > 1e9
    assert [point.wall_time for point in points[1:]] == [200.0, 1.0]


def test_hparams_are_written_to_the_run_itself(tmp_path):
    with rf.SummaryWriter(tmp_path) as writer:
        for summary in hparams({"lr": 0.1, "layers": 2}, {"loss": 0.5}):
            writer.file_writer.add_summary(summary)
        writer.add_scalar("loss", 0.5, 3)
    assert rf.open(tmp_path).hparams(wide=True).loc["."].to_dict() == {"lr": 0.1, "layers": 2.0}
    assert logged(tmp_path) == {3: 0.5}


def test_graphs_are_written(tmp_path):
    graph = graph_pb2.GraphDef(node=[{"name": "a", "op": "Relu"}])
    with rf.SummaryWriter(tmp_path) as writer:
        writer.file_writer.add_graph((graph, config_pb2.RunMetadata()))
        writer.file_writer.flush()
    assert read(tmp_path).Graph().node[0].name == "a"
    assert read(tmp_path).Tags()["run_metadata"] == ["step1"]
    for name in ("add_onnx_graph", "add_openvino_graph"):
        with rf.SummaryWriter(tmp_path / name) as writer:
            getattr(writer.file_writer, name)(graph)
        assert read(tmp_path / name).Graph().node[0].op == "Relu"


def test_the_attributes_that_frameworks_use_exist(tmp_path):
    writer = rf.SummaryWriter(tmp_path, max_queue=3, flush_secs=7, filename_suffix=".end")
    original = torch.utils.tensorboard.SummaryWriter(tmp_path / "torch", 3, 7)
    assert writer.log_dir is writer.get_logdir() is writer.logdir is tmp_path
    assert (writer.max_queue, writer.flush_secs, writer.filename_suffix) == (3, 7, ".end")
    assert writer.purge_step is None
    assert writer.default_bins == original.default_bins
    file_writer = writer.file_writer
    assert writer.file_writer is file_writer
    assert writer.all_writers == {str(tmp_path): file_writer}
    assert file_writer.get_logdir() == file_writer.event_writer.get_logdir() == str(tmp_path)
    assert (
        file_writer.event_writer._file_name
        == file_writer.event_writer._ev_writer._file_name
        == writer.path
    )
    assert file_writer.event_writer._logdir == str(tmp_path)
    writer.add_scalar("loss", 0.5, 1, 100.0)
    assert writer.scalar_dict == {str(tmp_path / "loss"): [[100.0, 1, 0.5]]}
    for each_writer in (writer, original):
        each_writer.close()
        assert each_writer.file_writer is None
        assert each_writer.all_writers is None
    writer._get_file_writer().close()
    file_writer.reopen()
    file_writer.add_summary(summary_pb2.Summary(value=[{"tag": "loss", "simple_value": 0.25}]), 2)
    file_writer.close()
    assert logged(tmp_path) == {1: 0.5, 2: 0.25}


def test_the_file_writer_of_a_silent_writer_writes_nothing(tmp_path):
    with rf.SummaryWriter(tmp_path / "run", write_to_disk=False) as writer:
        writer.file_writer.add_summary(summary_pb2.Summary(), 1)
        writer.file_writer.add_event(event_pb2.Event())
        writer.file_writer.flush()
        assert writer.all_writers == {str(tmp_path / "run"): writer.file_writer}
    assert list(tmp_path.rglob("*tfevents*")) == []


def test_metadata_of_a_block_applies_to_its_messages(tmp_path):
    summary = summary_pb2.Summary(value=[{"tag": "loss", "simple_value": 0.5}])
    event = event_pb2.Event(summary=summary)
    with rf.SummaryWriter(tmp_path) as writer:
        with writer.file_writer.use_metadata(global_step=12, walltime=50.0):
            writer.file_writer.add_summary(summary)
            writer.file_writer.add_event(event)
        writer.file_writer.add_summary(summary, 13)
    assert [(p.step, p.wall_time == 50.0) for p in read(tmp_path).Scalars("loss")] == [
        (12, True),
        (12, True),
        (13, False),
    ]


def test_attributes_can_be_assigned_as_in_torch(tmp_path):
    class Copied(rf.SummaryWriter):
        """Repeats the assignments in torch's constructor."""

        def __init__(self, folder):
            super().__init__(folder)
            self.file_writer = self.all_writers = None
            self._get_file_writer()
            self.default_bins = [0.0, 1.0, 2.0]
            self.scalar_dict = {}

    with Copied(tmp_path) as writer:
        writer.add_histogram("h", [0.5, 1.5, 1.5], 1)
        writer.add_scalar("loss", 0.5, 1)
        writer.logdir = writer.log_dir
        assert writer.default_bins == [0.0, 1.0, 2.0]
        assert writer.file_writer is not None
    counted = read(tmp_path).Histograms("h")[0].histogram_value
    assert (counted.bucket_limit, counted.bucket) == ([0.0, 1.0, 2.0], [0.0, 1.0, 2.0])
    assert logged(tmp_path) == {1: 0.5}
