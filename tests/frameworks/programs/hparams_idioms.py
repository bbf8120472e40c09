"""Common ways to log hparams in a single run, through the writer's file writers."""

import time

from tensorboard.compat.proto.event_pb2 import Event
from torch.utils.tensorboard import SummaryWriter
from torch.utils.tensorboard.summary import hparams, scalar

HPARAMS = {"lr": 0.1, "layers": 2, "name": "small"}


class OneRunWriter(SummaryWriter):
    def add_hparams(self, hparam_dict, metric_dict):
        for summary in hparams(hparam_dict, metric_dict):
            self.file_writer.add_summary(summary)
        for tag, value in metric_dict.items():
            self.add_scalar(tag, value)


with OneRunWriter("logs/subclass") as writer:
    for step in range(5):
        writer.add_scalar("loss", 1 / (step + 1), step)
    writer.add_hparams(HPARAMS, {"hparam/loss": 0.2})

writer = SummaryWriter(log_dir="logs/by-hand")
for step in range(5):
    writer.add_scalar("loss", 1 / (step + 1), step)
experiment, start, end = hparams(HPARAMS, {"loss": 0})
writer._get_file_writer().add_summary(experiment)
writer._get_file_writer().add_summary(start)
writer._get_file_writer().add_summary(end)
writer.close()
assert writer.all_writers is None
assert writer.file_writer is None
writer._get_file_writer().add_summary(scalar("loss", 0.5), 5)
writer.close()

writer = SummaryWriter(log_dir="logs/events")
for file_writer in writer.all_writers.values():
    assert file_writer.get_logdir() == "logs/events"
    for step in range(5):
        event = Event(summary=scalar("loss", step / 2), wall_time=time.time())
        file_writer.add_event(event, step)
    file_writer.flush()
writer.close()
