"""Distributed jobs: a rank above zero is silent only if rank zero logs to the same folder."""

import json
import os
import pickle
import subprocess
import sys
from pathlib import Path

import pytest
from helpers.boards import until
from helpers.log_runs import logged

import runfold as rf
from runfold._log.writer import rank_zero as ranks
from runfold._log.writer.distributed_job import find_job

MARK = Path(".runfold", "rank-zero")
LAUNCHERS = ("RANK", "WORLD_SIZE", "MASTER_", "SLURM_", "OMPI_", "PMI", "TORCHELASTIC_")

# Executes Python line by line, and prints a line after each.
PROGRAM = """
import os, sys
import runfold as rf
for line in sys.stdin:
    exec(line)
    print("done", flush=True)
"""


def slurm(rank, size=4):
    job = {"SLURM_JOB_ID": "17", "SLURM_STEP_ID": "0"}
    return {"SLURM_PROCID": str(rank), "SLURM_NTASKS": str(size), **job}


def torchrun(rank, size=4):
    job = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": "29500", "TORCHELASTIC_RUN_ID": "none"}
    return {"RANK": str(rank), "WORLD_SIZE": str(size), **job}


def mpi(rank, size=4):
    return {"OMPI_COMM_WORLD_RANK": str(rank), "OMPI_COMM_WORLD_SIZE": str(size)}


def outside() -> dict[str, str]:
    """The environment without the variables of any launcher."""
    return {name: text for name, text in os.environ.items() if not name.startswith(LAUNCHERS)}


class Rank:
    """A process of a job that executes the lines it is sent."""

    def __init__(self, folder, variables):
        self.process = subprocess.Popen(
            [sys.executable, "-c", PROGRAM],
            cwd=folder,
            env={**outside(), **variables},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def do(self, *lines):
        for line in lines:
            self.process.stdin.write(line + "\n")
            self.process.stdin.flush()
            assert self.process.stdout.readline() == "done\n", self.end()

    def end(self):
        """Let the process end by itself, and return its stderr."""
        _, errors = self.process.communicate(timeout=120)
        return errors


@pytest.fixture
def start(tmp_path):
    started = []

    def start_rank(variables):
        started.append(Rank(tmp_path, variables))
        return started[-1]

    yield start_rank
    for rank in started:
        rank.process.kill()
        rank.process.communicate()


@pytest.fixture
def job(monkeypatch):
    """Set the variables that make this process part of a job."""

    def set_variables(variables):
        for name in os.environ.keys() - outside().keys():
            monkeypatch.delenv(name)
        for name, text in variables.items():
            monkeypatch.setenv(name, text)

    set_variables({})
    monkeypatch.setattr(ranks, "_reported", set())
    return set_variables


def event_files(folder):
    return sorted(path for path in Path(folder).rglob("*") if "tfevents" in path.name)


def log(folder, value=0.5, **options):
    with rf.SummaryWriter(folder, **options) as writer:
        writer.add_scalar("loss", value, 1)
    return writer


def test_four_seeds_in_one_slurm_step_create_four_runs(tmp_path, start):
    tasks = [start(slurm(rank)) for rank in range(4)]
    for rank, task in enumerate(tasks):
        task.do(f"writer = rf.SummaryWriter('seed-{rank}')")
        task.do(f"writer.add_scalar('loss', {rank}.0, 1)")
    assert [task.end() for task in tasks] == [""] * 4
    assert [logged(tmp_path / f"seed-{rank}") for rank in range(4)] == [
        {1: 0.0},
        {1: 1.0},
        {1: 2.0},
        {1: 3.0},
    ]


@pytest.mark.parametrize("launcher", [slurm, torchrun, mpi])
def test_ranks_that_log_after_rank_zero_write_no_file(tmp_path, start, launcher):
    zero, *others = [start(launcher(rank, 3)) for rank in range(3)]
    zero.do("writer = rf.SummaryWriter('run')", "writer.add_scalar('loss', 0.0, 1)")
    for other in others:
        other.do("writer = rf.SummaryWriter('run')", "writer.add_scalar('loss', 9.0, 1)")
        other.do("writer.flush()", "assert writer.is_silent and writer.path is None")
    assert len(event_files(tmp_path)) == 1
    assert zero.end() == ""
    for rank, other in enumerate(others, 1):
        assert other.end() == (
            f"runfold: rank {rank} of 3 writes nothing to {tmp_path}/run: rank 0 of the same job "
            'logs there. Pass ranks="all" to log from every rank.\n'
        )
    assert logged(tmp_path / "run") == {1: 0.0}


@pytest.mark.parametrize("launcher", [slurm, torchrun, mpi])
@pytest.mark.parametrize("last", ["writer.flush()", "writer.close()", "del writer"])
def test_a_rank_that_logs_before_rank_zero_removes_its_file(tmp_path, start, launcher, last):
    rank_one, zero = start(launcher(1)), start(launcher(0))
    rank_one.do("writer = rf.SummaryWriter('run')", "writer.add_scalar('loss', 9.0, 1)")
    rank_one.do("writer.flush()")
    assert len(event_files(tmp_path)) == 1
    zero.do("writer = rf.SummaryWriter('run')", "writer.add_scalar('loss', 0.0, 1)")
    rank_one.do("writer.add_scalar('loss', 9.0, 2)", last)
    assert rank_one.end().count("\n") == 1
    assert zero.end() == ""
    assert logged(tmp_path / "run") == {1: 0.0}
    assert len(event_files(tmp_path)) == 1


def test_a_rank_goes_silent_while_it_logs(tmp_path, job):
    job(slurm(1))
    with rf.SummaryWriter(tmp_path / "run", flush_secs=0) as rank_one:
        rank_one.add_scalar("loss", 9.0, 1)
        job(slurm(0))
        log(tmp_path / "run")
        until(lambda: rank_one.is_silent)  # the background thread finds the mark
        rank_one.add_scalar("loss", 9.0, 2)
    assert logged(tmp_path / "run") == {1: 0.5}


def test_a_rank_that_trains_with_rank_zero_creates_its_file_with_the_first_events(tmp_path, job):
    job(torchrun(1))
    with rf.SummaryWriter(tmp_path / "run") as waiting:
        waiting.flush()
        assert waiting.path is None
        assert os.listdir(tmp_path / "run") == []
        waiting.add_scalar("loss", 0.5, 1)
        waiting.flush()
        assert [Path(waiting.path)] == event_files(tmp_path)
    assert logged(tmp_path / "run") == {1: 0.5}


def test_a_deferred_file_starts_with_the_restart_and_the_hparams(tmp_path, job):
    job(torchrun(1))
    log(tmp_path / "run", 0.25)
    log(tmp_path / "run", purge_step=1, hparams={"lr": 0.1})
    assert logged(tmp_path / "run") == {1: 0.5}
    assert rf.open(tmp_path)["run"].hparams()["value"].tolist() == [0.1]


def test_a_deferred_rank_that_logs_nothing_leaves_an_empty_folder(tmp_path, job):
    job(torchrun(1))
    with rf.SummaryWriter(tmp_path / "run"):
        pass
    assert os.listdir(tmp_path / "run") == []


@pytest.mark.parametrize("launcher", [slurm, torchrun, mpi])
def test_the_last_rank_writes_if_rank_zero_has_no_writer(tmp_path, job, launcher, capfd):
    job(launcher(3))
    log(tmp_path / "run")
    assert logged(tmp_path / "run") == {1: 0.5}
    assert capfd.readouterr().err == ""


def test_the_last_rank_writes_if_rank_zero_never_logs(tmp_path, job):
    job(torchrun(0))
    with rf.SummaryWriter(tmp_path / "run") as zero:
        zero.flush()
        job(torchrun(3))
        log(tmp_path / "run", 0.25)
    assert logged(tmp_path / "run") == {1: 0.25}


@pytest.mark.parametrize("variable", ["RANK", "SLURM_PROCID", "OMPI_COMM_WORLD_RANK", "PMI_RANK"])
def test_a_rank_without_a_number_of_processes_is_ignored(tmp_path, job, variable):
    for rank in "01":
        job({variable: rank})
        log(tmp_path / "run")
    assert len(event_files(tmp_path)) == 2


def test_a_single_process_leaves_no_mark(tmp_path, job):
    log(tmp_path / "run")
    assert os.listdir(tmp_path / "run") == [path.name for path in event_files(tmp_path)]


def test_ranks_all_writes_from_every_rank(tmp_path, job):
    for rank in range(3):
        job(torchrun(rank, 3))
        log(tmp_path / "run", float(rank), ranks="all")
    assert len(event_files(tmp_path)) == 3
    assert not (tmp_path / "run" / MARK).exists()


def test_ranks_other_than_zero_and_all_raise(tmp_path):
    with pytest.raises(ValueError, match="expected ranks='zero' or ranks='all', got 'first'"):
        rf.SummaryWriter(tmp_path / "run", ranks="first")


@pytest.mark.parametrize("variables", [{}, torchrun(0), torchrun(2), slurm(2)])
def test_is_main_overrides_the_rank(tmp_path, job, variables, capfd):
    job(torchrun(0))
    log(tmp_path / "run")
    job(variables)
    log(tmp_path / "run", is_main=True)
    assert len(event_files(tmp_path)) == 2
    silent = log(tmp_path / "other", is_main=False)
    silent.export_scalars_to_json(tmp_path / "scalars.json")
    assert silent.is_silent
    assert os.listdir(tmp_path / "other") == []
    assert not (tmp_path / "scalars.json").exists()
    assert capfd.readouterr().err == ""


def test_a_rank_that_logged_alone_for_long_keeps_its_file(tmp_path, job, monkeypatch):
    monkeypatch.setattr(ranks, "_ALONE_SECONDS", -1.0)
    job(slurm(1))
    with rf.SummaryWriter(tmp_path / "run") as rank_one:
        job(slurm(0))
        with rf.SummaryWriter(tmp_path / "run") as zero:
            zero.add_scalar("rate", 0.25, 1)
        rank_one.add_scalar("loss", 0.5, 1)
    assert logged(tmp_path / "run") == {1: 0.5}
    assert logged(tmp_path / "run", "rate") == {1: 0.25}


def test_the_mark_of_another_job_is_ignored(tmp_path, job):
    job(slurm(0))
    log(tmp_path / "run")
    job({**slurm(1), "SLURM_JOB_ID": "18"})
    log(tmp_path / "run")
    assert len(event_files(tmp_path)) == 2


def test_the_mark_of_an_earlier_job_with_the_same_address_is_ignored(tmp_path, job, monkeypatch):
    job(torchrun(0))
    with monkeypatch.context() as earlier:
        earlier.setattr(ranks, "_STARTED", ranks._STARTED - 3600)
        log(tmp_path / "run")
    job(torchrun(1))
    log(tmp_path / "run")
    assert len(event_files(tmp_path)) == 2


def test_a_resumed_job_replaces_the_mark_of_the_previous_job(tmp_path, job):
    job(slurm(0))
    log(tmp_path / "run")
    for rank in (0, 1):
        job({**slurm(rank), "SLURM_JOB_ID": "18"})
        log(tmp_path / "run")
    assert len(event_files(tmp_path)) == 2


@pytest.mark.parametrize("launcher", [slurm, mpi])
def test_processes_that_may_be_seeds_get_separate_default_folders(
    tmp_path, job, launcher, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    names = []
    for rank in range(3):
        job(launcher(rank, 3))
        names.append(Path(log(None, comment="-x").log_dir))
    assert [path.name.rpartition("-x")[2] for path in names] == ["", "_rank1", "_rank2"]
    assert {path.parent for path in event_files("runs")} == set(names)


def test_in_a_job_that_trains_together_only_rank_zero_has_a_default_run(
    tmp_path, job, monkeypatch, capfd
):
    monkeypatch.chdir(tmp_path)
    for rank in range(2):
        job(torchrun(rank, 2))
        writer = log(None)
        assert writer.is_silent == bool(rank)
        assert Path(writer.log_dir).is_dir()
    assert len(event_files("runs")) == 1
    assert capfd.readouterr().err == (
        f"runfold: rank 1 of 2 writes nothing to {writer.log_dir}: rank 0 logs this run. Pass "
        'is_main=True to log from this rank, or ranks="all" to log from every rank.\n'
    )
    job(torchrun(1, 2))
    assert log(None, is_main=True).log_dir == writer.log_dir
    assert log(None, ranks="all").log_dir.endswith("_rank1")
    assert len(event_files("runs")) == 3


def test_the_folder_of_runfold_run_is_shared_like_an_explicit_folder(tmp_path, job, monkeypatch):
    monkeypatch.setenv("RUNFOLD_LOGDIR", str(tmp_path / "run"))
    for rank in (3, 0, 1):
        job(torchrun(rank))
        log(None, float(rank))
    # Rank 3 had closed its writer before rank zero started.
    assert len(event_files(tmp_path / "run")) == 2


def test_a_silent_rank_says_so_once_per_folder(tmp_path, job, capfd):
    job(torchrun(0))
    for folder in "ab":
        log(tmp_path / folder)
    job(torchrun(1))
    for folder in "aabb":
        log(tmp_path / folder)
    lines = capfd.readouterr().err.splitlines()
    assert [line.split(": ")[1] for line in lines] == [
        f"rank 1 of 4 writes nothing to {tmp_path}/{folder}" for folder in "ab"
    ]


@pytest.mark.parametrize("stream", [None, "closed"])
def test_a_missing_stderr_is_ignored(tmp_path, job, monkeypatch, stream):
    if stream == "closed":
        stream = open(tmp_path / "stderr", "w")  # noqa: SIM115
        stream.close()
    job(torchrun(0))
    log(tmp_path / "run")
    job(torchrun(1))
    monkeypatch.setattr(sys, "stderr", stream)
    assert log(tmp_path / "run").is_silent


def test_a_program_that_changes_its_directory_finds_mark_and_file(tmp_path, job, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "elsewhere").mkdir()
    job(slurm(1))
    uncertain = rf.SummaryWriter("run")
    job(torchrun(1))
    waiting = rf.SummaryWriter("other")
    job(slurm(0))
    zero = rf.SummaryWriter("run")
    monkeypatch.chdir("elsewhere")
    for writer in (zero, uncertain, waiting):
        with writer:
            writer.add_scalar("loss", 0.5, 1)
    assert os.listdir(tmp_path / "elsewhere") == []
    assert len(event_files(tmp_path / "run")) == 1
    assert len(event_files(tmp_path / "other")) == 1


def test_a_silent_rank_stays_silent_after_close(tmp_path, job):
    job(torchrun(1))
    with rf.SummaryWriter(tmp_path / "run") as rank_one:
        rank_one.add_scalar("loss", 9.0, 1)
        rank_one.flush()
        job(torchrun(0))
        log(tmp_path / "run")
    rank_one.add_scalar("loss", 9.0, 2)
    rank_one.export_scalars_to_json(tmp_path / "scalars.json")
    rank_one.close()
    assert rank_one.is_silent
    assert logged(tmp_path / "run") == {1: 0.5}
    assert not (tmp_path / "scalars.json").exists()


def test_a_deferred_rank_has_the_scalars_of_all_its_files(tmp_path, job):
    job(torchrun(1))
    with rf.SummaryWriter(tmp_path / "run") as writer:
        for step in (1, 2):
            writer.add_scalar("loss", 0.5, step)
            writer.close()
        (points,) = writer.scalar_dict.values()
    assert [point[1:] for point in points] == [[1, 0.5], [2, 0.5]]


def test_a_process_that_logged_as_rank_zero_is_not_silenced_by_its_own_mark(tmp_path, job):
    # Processes in a pool inherit the rank of their Slurm script, until they form a group.
    job({"SLURM_PROCID": "0", "SLURM_NTASKS": "2"})
    writer = log(tmp_path / "run")
    job({"RANK": "1", "WORLD_SIZE": "2"})
    writer.add_scalar("loss", 0.25, 2)
    writer.close()
    assert logged(tmp_path / "run") == {1: 0.5, 2: 0.25}


def test_a_group_that_forms_before_the_first_call_is_used(tmp_path, job):
    job(slurm(1))
    run = rf.track(tmp_path / "run", system=False, code=False)
    job(torchrun(1))
    run.log({"loss": 1.0}, step=1)
    run.close()
    assert run.is_silent
    assert os.listdir(tmp_path / "run") == []


def test_a_copy_of_a_writer_has_the_rank_of_its_process(tmp_path, job):
    job(torchrun(0))
    copy = pickle.dumps(log(tmp_path / "run"))
    job(torchrun(1))
    loaded = pickle.loads(copy)
    loaded.add_scalar("loss", 9.0, 2)
    loaded.close()
    assert loaded.is_silent
    assert logged(tmp_path / "run") == {1: 0.5}


def test_a_deferred_rank_recreates_its_deleted_folder(tmp_path, job):
    job(torchrun(1))
    with rf.SummaryWriter(tmp_path / "run") as writer:
        (tmp_path / "run").rmdir()
        writer.add_scalar("loss", 0.5, 1)
    assert logged(tmp_path / "run") == {1: 0.5}


def make_fifo(path):
    os.mkfifo(path)


def make_folder(path):
    path.mkdir()


def make_link(path):
    real = {"job": find_identity(), "started": ranks._STARTED}
    (path.parent.parent / "elsewhere").write_text(json.dumps(real))
    path.symlink_to(path.parent.parent / "elsewhere")


def make_huge(path):
    real = {"job": find_identity(), "started": ranks._STARTED}
    path.write_text(json.dumps(real) + " " * 100_000)


def make_text(text):
    def make(path):
        path.write_text(text)

    return make


def find_identity():
    return find_job().identity


BAD_MARKS = {
    "fifo": make_fifo,
    "folder": make_folder,
    "link": make_link,
    "huge": make_huge,
    "empty": make_text(""),
    "number": make_text("7"),
    "deep": make_text("[" * 60_000),
    "nan": make_text('{"job": "x", "started": NaN}'),
    "lists": make_text('{"job": [], "started": []}'),
    "infinite": make_text('{"job": null, "started": 1' + "0" * 400 + "}"),
}


@pytest.mark.parametrize("kind", BAD_MARKS)
def test_a_side_file_that_is_not_a_mark_is_ignored_without_blocking(tmp_path, job, kind):
    job(torchrun(1))
    (tmp_path / "run" / ".runfold").mkdir(parents=True)
    BAD_MARKS[kind](tmp_path / "run" / MARK)
    log(tmp_path / "run")
    assert logged(tmp_path / "run") == {1: 0.5}


def test_a_valid_mark_silences_a_rank(tmp_path, job):
    job(torchrun(1))
    (tmp_path / "run" / ".runfold").mkdir(parents=True)
    mark = {"job": find_identity(), "started": ranks._STARTED}
    (tmp_path / "run" / MARK).write_text(json.dumps(mark))
    assert log(tmp_path / "run").is_silent


@pytest.mark.parametrize("kind", ["link", "file", "other owner"])
def test_rank_zero_leaves_no_mark_in_a_side_folder_of_another_user(
    tmp_path, job, monkeypatch, kind
):
    (tmp_path / "run").mkdir()
    (tmp_path / "elsewhere").mkdir()
    side = tmp_path / "run" / ".runfold"
    if kind == "link":
        side.symlink_to(tmp_path / "elsewhere")
    elif kind == "file":
        side.touch()
    else:
        side.mkdir()
        user = os.geteuid()
        monkeypatch.setattr(os, "geteuid", lambda: user + 1)
    job(torchrun(0))
    log(tmp_path / "run")
    assert logged(tmp_path / "run") == {1: 0.5}
    assert not (tmp_path / "run" / MARK).exists()
    assert os.listdir(tmp_path / "elsewhere") == []


# Like a DataLoader worker, a child logs with its parent's writer and with its own.
FORKED = """
import os, sys
from runfold import SummaryWriter

writer = SummaryWriter("run")
writer.add_scalar("parent", 1.0, 1)
child = os.fork()
if not child:
    writer.add_scalar("child", 1.0, 1)
    with SummaryWriter("run") as own:
        own.add_scalar("grandchild", 1.0, 1)
else:
    assert os.waitpid(child, 0)[1] == 0
writer.close()
"""


def test_a_forked_child_has_the_rank_of_its_parent(tmp_path):
    errors = []
    for rank in (0, 1):
        done = subprocess.run(
            [sys.executable, "-c", FORKED],
            cwd=tmp_path,
            env={**outside(), **torchrun(rank)},
            capture_output=True,
            text=True,
            timeout=120,
            check=True,
        )
        errors.append(done.stderr)
    assert len(event_files(tmp_path)) == 3
    for tag in ("parent", "child", "grandchild"):
        assert logged(tmp_path / "run", tag) == {1: 1.0}
    assert errors[0] == ""
    assert {line[:20] for line in errors[1].splitlines()} == {"runfold: rank 1 of 4"}


GLOO = """
import sys
import torch.distributed
from runfold import SummaryWriter

rank = int(sys.argv[1])
torch.distributed.init_process_group("gloo", "file://" + sys.argv[2], rank=rank, world_size=2)
with SummaryWriter("first") as writer, SummaryWriter("all", ranks="all") as every:
    writer.add_scalar("loss", float(rank), 1)
    every.add_scalar(f"loss/{rank}", float(rank), 1)
    torch.distributed.barrier()
torch.distributed.destroy_process_group()
"""


def test_a_torch_group_in_one_folder_writes_one_file_and_one_message(tmp_path):
    (tmp_path / "train.py").write_text(GLOO)
    # The variables come from another launcher, and are wrong for both processes.
    workers = [
        subprocess.Popen(
            [sys.executable, "train.py", str(rank), str(tmp_path / "meeting")],
            cwd=tmp_path,
            env={**outside(), "GLOO_SOCKET_IFNAME": "lo", **slurm(1 - rank)},
            stderr=subprocess.PIPE,
            text=True,
        )
        for rank in (0, 1)
    ]
    errors = [worker.communicate(timeout=120)[1] for worker in workers]
    assert [worker.returncode for worker in workers] == [0, 0], errors
    assert [text.count("runfold: ") for text in errors] == [0, 1]
    assert "rank 1 of 2 writes nothing" in errors[1]
    assert logged(tmp_path / "first") == {1: 0.0}
    assert len(event_files(tmp_path / "first")) == 1
    assert logged(tmp_path / "all", "loss/0") == {1: 0.0}
    assert logged(tmp_path / "all", "loss/1") == {1: 1.0}


TORCHRUN = """
import torch.distributed
import runfold as rf

with rf.SummaryWriter("same") as same, rf.track("tracked", system=False, code=False) as tracked:
    torch.distributed.init_process_group("gloo")
    rank = torch.distributed.get_rank()
    same.add_scalar("loss", float(rank), 1)
    tracked.add_scalar("loss", float(rank), 1)
    torch.distributed.barrier()
    if rank == 1:
        with rf.SummaryWriter("last") as last:
            last.add_scalar("loss", float(rank), 1)
torch.distributed.destroy_process_group()
"""


def test_torchrun_creates_one_run_per_folder_and_one_for_the_last_rank(tmp_path):
    (tmp_path / "train.py").write_text(TORCHRUN)
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone"]
    done = subprocess.run(
        [*command, "--nproc-per-node", "2", "train.py"],
        cwd=tmp_path,
        env={**outside(), "GLOO_SOCKET_IFNAME": "lo"},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert sorted(path.parent.name for path in event_files(tmp_path)) == ["last", "same", "tracked"]
    assert logged(tmp_path / "same") == {1: 0.0}
    assert logged(tmp_path / "tracked") == {1: 0.0}
    assert logged(tmp_path / "last") == {1: 1.0}
    assert done.stderr.count("runfold: rank 1 of 2 writes nothing to") == 2


def test_only_rank_zero_tracks_a_run_in_a_job_that_trains_together(tmp_path, job, capfd):
    for rank in (1, 0):
        job(torchrun(rank, 2))
        with rf.track(tmp_path / "run", system=False, code=False) as run:
            run.log({"loss": float(rank)}, step=1)
            assert run.save(__file__) is None or rank == 0
            assert run.is_silent == bool(rank)
        assert (tmp_path / "run").is_dir()
    assert logged(tmp_path / "run") == {1: 0.0}
    assert os.listdir(tmp_path) == ["run"]
    assert capfd.readouterr().err.count("rank 1 of 2 writes nothing") == 1


def test_processes_that_may_be_seeds_track_separate_runs(tmp_path, job):
    job(slurm(0))
    with rf.track(tmp_path / "run", system=False, code=False) as zero:
        zero.log({"loss": 0.0}, step=1)
        job(slurm(1))
        with (
            pytest.warns(UserWarning, match="There is already a run in"),
            rf.track(tmp_path / "run", system=False, code=False) as rank_one,
        ):
            rank_one.log({"loss": 1.0}, step=1)
    assert logged(tmp_path / "run") == {1: 0.0}
    assert logged(tmp_path / "run-2") == {1: 1.0}


def test_a_rank_that_resumes_the_run_of_rank_zero_is_silent(tmp_path, job):
    job(slurm(0))
    with rf.track(tmp_path / "run", resume=True, system=False, code=False) as zero:
        zero.log({"loss": 0.0}, step=1)
        job(slurm(1))
        with rf.track(tmp_path / "run", resume=True, system=False, code=False) as rank_one:
            rank_one.log({"loss": 1.0}, step=1)
        assert rank_one.is_silent
        assert json.loads((tmp_path / "run/.runfold/heartbeat").read_text())["state"] == "running"
    assert logged(tmp_path / "run") == {1: 0.0}


def test_is_main_and_ranks_decide_for_a_tracker_as_well(tmp_path, job):
    job(torchrun(3))
    options = {"system": False, "code": False}
    with rf.track(tmp_path / "main", is_main=True, **options) as run:
        run.log({"loss": 0.5}, step=1)
    with rf.track(tmp_path / "all", ranks="all", **options) as run:
        run.log({"loss": 0.5}, step=1)
    with rf.track(tmp_path / "none", is_main=False, **options) as run:
        run.log({"loss": 0.5}, step=1)
    assert logged(tmp_path / "main") == logged(tmp_path / "all") == {1: 0.5}
    assert os.listdir(tmp_path / "none") == []


def test_a_silenced_rank_writes_no_hparams_trial(tmp_path, job):
    job(torchrun(0))
    log(tmp_path / "run")
    job(torchrun(1))
    with rf.SummaryWriter(tmp_path / "run") as writer:
        writer.add_hparams({"lr": 0.1}, {"loss": 0.5}, run_name="trial")
    job(torchrun(1))
    with rf.SummaryWriter(tmp_path / "other") as writer:
        writer.add_hparams({"lr": 0.1}, {"loss": 0.5}, run_name="trial")
    folders = {path.parent.relative_to(tmp_path) for path in event_files(tmp_path)}
    assert folders == {Path("run"), Path("other/trial"), Path("other")}


def test_a_rank_above_zero_does_not_log_to_the_url_of_rank_zero(tmp_path, job, capfd):
    job(torchrun(1))
    with rf.SummaryWriter("s3://bucket/run") as writer:
        writer.add_scalar("loss", 0.5, 1)
        assert writer.is_silent
    assert "rank 1 of 4 writes nothing to s3://bucket/run" in capfd.readouterr().err
    assert not Path("s3:").exists()
