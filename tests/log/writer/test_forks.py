"""Writers in forked processes: each process has its own files, and all of them are intact."""

import subprocess
import sys

import pytest
from helpers.log_runs import logged, problems, run

import runfold as rf


@pytest.mark.fault(60)
def test_both_files_are_intact_after_a_fork(tmp_path):
    code = """
        for step in range(100): writer.add_scalar("parent", 1.0, step)
        child = os.fork()
        if child == 0:
            for step in range(100): writer.add_scalar("child", 2.0, step)
            sys.exit()
        os.waitpid(child, 0)
        for step in range(100, 200): writer.add_scalar("parent", 1.0, step)
    """
    assert run(code, tmp_path).returncode == 0
    run_of_both = rf.open(tmp_path)["."]
    assert run_of_both["parent"].steps.tolist() == list(range(200))
    assert run_of_both["child"].steps.tolist() == list(range(100))
    assert len(list(tmp_path.iterdir())) == 2
    assert problems(tmp_path) == []


@pytest.mark.fault(60)
def test_a_child_that_logs_nothing_creates_no_file(tmp_path):
    code = """
        writer.add_scalar("loss", 1.0, 1)
        child = os.fork()
        if child == 0:
            sys.exit()
        os.waitpid(child, 0)
    """
    assert run(code, tmp_path).returncode == 0
    assert len(list(tmp_path.iterdir())) == 1
    assert logged(tmp_path) == {1: 1.0}


@pytest.mark.parametrize("method", ["fork", "forkserver", "spawn"])
@pytest.mark.parametrize("end", ["pass", "raise RuntimeError"])
def test_a_worker_that_does_not_close_its_writer_loses_nothing(tmp_path, method, end):
    (tmp_path / "program.py").write_text(f"""
import multiprocessing
from runfold._log.writer.event_writer import EventWriter

def work(folder):
    writer = EventWriter(folder, flush_secs=600)
    for step in range(100): writer.add_scalar("loss", 1.0, step)
    {end}

if __name__ == "__main__":
    worker = multiprocessing.get_context({method!r}).Process(target=work, args=("run",))
    worker.start()
    worker.join()
""")
    subprocess.run(
        [sys.executable, "program.py"],
        cwd=tmp_path,
        stderr=subprocess.PIPE,
        timeout=120,
        check=True,
    )
    assert list(logged(tmp_path / "run")) == list(range(100))
    assert problems(tmp_path / "run") == []


def test_data_loader_workers_log_with_the_writer_of_their_parent(tmp_path):
    code = """
        from torch.utils.data import DataLoader, Dataset
        class Numbers(Dataset):
            def __len__(self): return 16
            def __getitem__(self, index):
                writer.add_scalar("read", 1.0, index)
                return index
        for batch in DataLoader(Numbers(), 4, num_workers=2):
            writer.add_scalar("trained", 1.0, int(batch[0]))
    """
    done = run(code, tmp_path)
    assert done.returncode == 0, done.stderr
    assert sorted(logged(tmp_path, "read")) == list(range(16))
    assert list(logged(tmp_path, "trained")) == [0, 4, 8, 12]


# While the main thread forks, another thread makes the first calls to many lazy runs.
FIRST_CALLS = """
import os, signal, sys, threading
import runfold as rf
from runfold.errors import WriterClosed

sys.setswitchinterval(1e-5)
folder, make = sys.argv[1], getattr(rf, sys.argv[2])
options = {"code": False, "system": False} if make is rf.track else {"is_lazy": True}
current, is_over = [None], threading.Event()

def call():
    number = 0
    while not is_over.is_set():
        number += 1
        current[0] = writer = make(f"{folder}/{number}", **options)
        writer.add_scalar("loss", 1.0, 1)
        writer.close()

thread = threading.Thread(target=call, daemon=True)
thread.start()
for _ in range(30):
    while current[0] is None:
        pass
    writer, current[0] = current[0], None
    child = os.fork()
    if child == 0:
        signal.alarm(60)
        try:
            writer.add_scalar("child", 1.0, 1)
        except WriterClosed:  # the thread was faster
            pass
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
is_over.set()
thread.join()
print("done")
"""


@pytest.mark.fault(60)
@pytest.mark.parametrize("make", ["SummaryWriter", "track"])
def test_a_fork_during_the_first_call_of_a_lazy_writer_leaves_the_child_usable(tmp_path, make):
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", FIRST_CALLS, str(tmp_path), make],
        capture_output=True,
        text=True,
        timeout=200,
    )
    assert (done.returncode, done.stdout) == (0, "done\n"), done.stderr


@pytest.mark.fault(60)
def test_a_fork_waits_for_a_first_call_in_another_thread(tmp_path):
    code = """
        begun, forking = threading.Event(), threading.Event()
        class Slow(EventWriter):
            def _open(self):
                with self.lock:
                    begun.set()
                    forking.wait()
                    super()._open()
        slow = Slow(writer.folder + "/slow", is_lazy=True)
        os.register_at_fork(before=forking.set)  # called first, as it was registered last
        thread = threading.Thread(target=slow.add_scalar, args=("loss", 1.0, 1))
        thread.start()
        begun.wait()
        child = os.fork()
        if child == 0:
            signal.alarm(60)
            slow.add_scalar("loss", 1.0, 2)
            slow.close()
            os._exit(0)
        print(os.waitpid(child, 0)[1])
        thread.join()
        slow.close()
    """
    done = run(code, tmp_path)
    assert done.stdout == b"0\n", done.stderr
    assert logged(tmp_path / "slow") == {1: 1.0, 2: 1.0}


@pytest.mark.fault(60)
def test_a_fork_while_another_thread_counts_a_batch_leaves_the_child_usable(tmp_path):
    code = """
        import runfold as rf
        begun, is_over = threading.Event(), threading.Event()
        run = rf.track(writer.folder + "/run", code=False, system=False)
        run.log({"loss": 1.0}, step=1)
        run.log = lambda *_: (begun.set(), is_over.wait())
        thread = threading.Thread(target=run.batch, args=({"loss": 1.0},))
        thread.start()
        begun.wait()
        child = os.fork()
        if child == 0:
            signal.alarm(60)
            run.log = lambda *_: None
            run.batch({"loss": 2.0})
            os._exit(0)
        print(os.waitpid(child, 0)[1])
        is_over.set()
        thread.join()
    """
    done = run(code, tmp_path)
    assert done.stdout == b"0\n", done.stderr
