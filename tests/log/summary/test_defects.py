"""Known defects of torch's and tensorboardX's writers that Runfold does not have.

Other defects are tested with their subject: add_hparams in test_hparams*.py, add_scalars and
use_metadata in test_add_scalars.py, and, in tests/log/writer, NaN in test_checks.py, and forks,
threads and exits in the files with these names.
"""

import numpy as np
import pytest
import tensorboardX
from helpers.kind_values import events
from helpers.log_runs import logged, problems, run
from helpers.tensorboard_readers import READERS, provider, read_scalars
from torch.utils.tensorboard import SummaryWriter

import runfold as rf


def starts(folder):
    """Return the steps of the restart markers below a folder."""
    return [event.step for event in events(folder) if event.HasField("session_log")]


def test_purge_step_is_applied_once_even_with_several_files(tmp_path):
    peer = tensorboardX.SummaryWriter(str(tmp_path / "peer"), purge_step=5)
    for step in (5, 6):
        peer.add_scalar("loss", 0.5, step)
        peer.close()
        # Otherwise, the writer truncates a file from the same second.
        peer._filename_suffix = ".again"
    assert starts(tmp_path / "peer") == [5, 5]

    code = """
        import shutil, warnings
        from runfold import SummaryWriter
        warnings.simplefilter("ignore")
        ours = SummaryWriter(writer.folder + "/ours", purge_step=5)
        ours.add_scalar("loss", 0.5, 6)
        ours.flush()
        if (child := os.fork()) == 0:
            ours.add_scalar("loss", 0.5, 7)
            sys.exit()
        os.waitpid(child, 0)
        gone = SummaryWriter(writer.folder + "/gone", purge_step=5, on_error="warn")
        gone.flush()
        shutil.rmtree(gone.folder)
        for step in (6, 7):
            gone.add_scalar("loss", 0.5, step)
            gone.flush()
    """
    done = run(code, tmp_path)
    assert done.returncode == 0, done.stderr
    assert starts(tmp_path / "ours") == [5]
    assert sorted(logged(tmp_path / "ours")) == [6, 7]
    assert starts(tmp_path / "gone") == []
    assert list(logged(tmp_path / "gone")) == [7]


@pytest.mark.parametrize("reader", READERS)
def test_a_float64_keeps_its_digits(tmp_path, reader):
    value = 0.1 + 2**-50
    with SummaryWriter(str(tmp_path / "peer")) as writer:
        writer.add_scalar("loss", value, 1, 5.0, double_precision=True)
    with rf.SummaryWriter(tmp_path / "ours") as writer:
        writer.add_scalar("loss", value, 1, 5.0, double_precision=True)
    runs = rf.open(tmp_path)
    assert runs["peer"]["loss"].values.tolist() == [np.float32(value)]
    assert runs["ours"]["loss"].values.tolist() == [value]
    with provider(reader, tmp_path) as source:
        ours, peers = (read_scalars(source, name, "loss") for name in ("ours", "peer"))
    assert ours == peers == [(1, 5.0, np.float32(value))]


def test_pending_events_are_written_without_a_flush_and_survive_a_kill(tmp_path):
    code = """
        quick = EventWriter(writer.folder + "/run", flush_secs=0)
        before = os.path.getsize(quick.path)
        quick.add_scalar("loss", 0.5, 1)
        while os.path.getsize(quick.path) == before: pass
        os.kill(os.getpid(), signal.SIGKILL)
    """
    assert run(code, tmp_path).returncode == -9
    assert logged(tmp_path / "run") == {1: 0.5}
    assert problems(tmp_path) == []
