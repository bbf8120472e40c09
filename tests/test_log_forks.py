"""Writers and other processes: each has files of its own, and all are whole."""

import subprocess
import sys

import pytest
from log_runs import logged, problems, run

import runfold as rf


@pytest.mark.fault(60)
def test_a_fork_leaves_both_files_whole(tmp_path):
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
def test_a_child_that_logs_nothing_leaves_no_file(tmp_path):
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
def test_a_worker_that_closes_nothing_loses_nothing(tmp_path, method, end):
    (tmp_path / "program.py").write_text(f"""
import multiprocessing
from runfold.log.writer import EventWriter

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


def test_workers_of_a_data_loader_log_by_the_writer_of_their_parent(tmp_path):
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
