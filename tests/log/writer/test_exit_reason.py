"""The recorded end of a run if the program did not close it."""

import subprocess
import sys

import pytest

import runfold as rf

HEAD = """
import sys, threading
import runfold as rf
run = rf.track(sys.argv[1], hparams={"lr": 0.1}, system=False, code=False)
run.add_scalar("loss", 1.0, 1)

def leave(status):
    try:
        sys.exit(status)
    finally:
        print("left")

"""
ENDS = {
    "sys.exit(3)": (3, "failed", 3),
    "leave(3)": (3, "failed", 3),
    "try:\n    leave(3)\nfinally:\n    print()": (3, "failed", 3),
    "sys.exit('no')": (1, "failed", 1),
    "sys.exit()": (0, "finished", 0),
    "import argparse\nargparse.ArgumentParser().parse_args(['--unknown'])": (2, "failed", 2),
    "try:\n    leave(3)\nexcept SystemExit:\n    pass": (0, "finished", None),
    "try:\n    leave(3)\nexcept SystemExit:\n    1 / 0": (1, "failed", 1),
    "thread = threading.Thread(target=leave, args=[3])\nthread.start()\nthread.join()": (
        0,
        "finished",
        None,
    ),
    "try:\n    1 / 0\nfinally:\n    run.close()": (1, "failed", 1),
    "try:\n    1 / 0\nexcept ZeroDivisionError:\n    pass\nrun.close()": (0, "finished", None),
}


@pytest.mark.parametrize("end", ENDS)
@pytest.mark.parametrize("launch", ["script", "module"])
def test_a_plain_run_has_the_state_of_its_program(tmp_path, end, launch):
    (tmp_path / "train.py").write_text(HEAD + end)
    program = ["train.py"] if launch == "script" else ["-m", "train"]
    done = subprocess.run(
        [sys.executable, *program, "run"], cwd=tmp_path, capture_output=True, check=False
    )
    runs = rf.open(tmp_path)
    status = runs["run"].status
    assert (done.returncode, status.state, status.exit) == ENDS[end]
    assert runs.sessions()["status"].tolist() == [
        "failure" if status.state == "failed" else "success"
    ]


def test_an_exception_handled_when_a_run_starts_does_not_make_it_fail(tmp_path):
    try:
        raise MemoryError
    except MemoryError:
        run = rf.track(tmp_path, system=False, code=False)
        run.add_scalar("loss", 1.0, 1)
        run.close()
    assert rf.open(tmp_path)["."].status.state == "finished"
