"""TFEventWriter for Tensorpack, with TensorFlow's summaries and events, and with a real trainer.

Tensorpack 0.11 was released in 2020 and is not installed with the other frameworks. The test with
a trainer runs only if Tensorpack is installed. The other test uses TensorFlow's messages.
"""

import subprocess
import sys
from importlib.util import find_spec

import pytest
from conftest import run_program

import runfold as rf

needs_tensorpack = pytest.mark.skipif(
    find_spec("tensorpack") is None, reason="Tensorpack is missing"
)

SHAPE = """
import sys
sys.modules["tensorpack"] = None
from tensorboard.compat.proto.event_pb2 import Event
from tensorboard.compat.proto.summary_pb2 import Summary
from runfold.integrations.tensorpack import TFEventWriter

def value(tag, number):
    return Summary(value=[Summary.Value(tag=tag, simple_value=number)])

monitor = TFEventWriter("logs/shape", 10, 120, system=False, code=False)
monitor._after_train()
for step in range(3):
    monitor.global_step = step
    monitor.process_scalar("loss", 1.0)
    monitor.process_summary(value("loss", step / 2))
monitor.process_event(Event(step=7, wall_time=5.0, summary=value("event", 1.0)))
monitor.process_summary("not a message")
monitor._before_train()
monitor._trigger_step()
monitor._trigger()
monitor._after_train()
monitor.process_summary(value("after", 1.0))
monitor._after_train()
"""


def test_the_monitor_works_without_tensorpack(tmp_path):
    """Each number is logged once, although Tensorpack passes it twice."""
    command = [sys.executable, "-c", SHAPE]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stderr.count("UserWarning") == 1
    run = rf.open(tmp_path / "logs")["shape"]
    assert run.status.state == "finished"
    points = {
        tag: list(zip(run[tag].steps.tolist(), run[tag].values.tolist(), strict=True))
        for tag in ("loss", "event", "after")
    }
    assert points == {"loss": [(0, 0), (1, 0.5), (2, 1)], "event": [(7, 1)], "after": [(2, 1)]}
    assert run["event"].wall_times.tolist() == [5.0]


@needs_tensorpack
def test_a_trainer_logs_the_same_as_with_tensorpacks_own_writer(tmp_path):
    trained = run_program(tmp_path / "run", "original", "tensorpack_monitor")
    logs, runs = trained.logs, rf.open(trained.folder / "logs")
    for name in ("fit", "lr"):
        expected = logs[f"original/{name}"]
        assert logs[f"logs/{name}"]["scalar", "cost"] == expected["scalar", "cost"]
        assert logs[f"logs/{name}"]["graph", ""] == expected["graph", ""]
    states = {name: run.status.state for name, run in runs.items()}
    assert states == {"fit": "finished", "lr": "finished", "stopped": "stopped", "failed": "failed"}
    folded = runs.reduce("mean", runs=["fit", "lr"], by="lr")
    assert {group.key["lr"] for group in folded.groups.values()} == {0.01, 0.1}
