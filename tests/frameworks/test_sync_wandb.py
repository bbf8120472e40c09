"""W&B's offline runs contain every point from Runfold's writer, as with torch's."""

from __future__ import annotations

import io
from pathlib import Path

import PIL.Image
import pytest
from tracker_logs import WandbRun, read_wandb, run_program

POINTS = [(step, pytest.approx(1 / (step + 1))) for step in range(20)]

HEAD = """
    import os, sys, time
    # W&B would import TensorFlow, to patch its writers too. That takes most of the time.
    sys.modules["tensorflow"] = None
    import numpy as np
    from runfold import SummaryWriter

    def init(**options):
        import wandb
        return wandb.init(project="p", **options)

    def log(writer, steps):
        for step in steps:
            writer.add_scalar("train/loss", 1 / (step + 1), step)

    def begin_next_second():
        # W&B compares the times of runs and files in whole seconds.
        start = int(time.time())
        while int(time.time()) == start:
            time.sleep(0.01)
"""


def run_wandb(folder: Path, code: str, imports: str = "import wandb") -> list[WandbRun]:
    """Run code after HEAD, and return the runs that W&B stored."""
    errors = run_program(folder, f"{HEAD}\n    {imports}\n{code}")
    assert "Warning" not in errors
    return read_wandb(folder)


@pytest.mark.parametrize("module", ["torch.utils.tensorboard", "tensorboardX", "runfold"])
def test_every_point_arrives_if_wandb_starts_first(tmp_path: Path, module: str) -> None:
    """The same test with torch's and tensorboardX's writers shows the expected result."""
    code = f"""
    from {module} import SummaryWriter
    init(sync_tensorboard=True)
    writer = SummaryWriter("runs/a")
    log(writer, range(20))
    writer.close()
    wandb.finish()
    """
    (run,) = run_wandb(tmp_path, code)
    assert run.series == {"train/loss": POINTS}
    (path,) = tmp_path.glob("runs/a/*tfevents*")
    (saved,) = (name for name in run.saved if name.endswith(path.name))
    assert run.folder.joinpath("files", saved).samefile(path)


def test_the_documented_program_works(tmp_path: Path) -> None:
    """The example in docs/guides/trackers.md, unchanged."""
    page = Path(__file__).parents[2].joinpath("docs/guides/trackers.md").read_text()
    program = page.partition("```python\n")[2].partition("```")[0]
    run_program(tmp_path, program)
    (run,) = read_wandb(tmp_path)
    assert [step for step, _ in run.series["train/loss"]] == list(range(100))


@pytest.mark.parametrize("imports", ["import wandb", ""], ids=["imported first", "imported later"])
def test_every_point_arrives_if_wandb_starts_later(tmp_path: Path, imports: str) -> None:
    """W&B also receives the points logged before `wandb.init`."""
    code = """
    writer = SummaryWriter("runs/a")
    log(writer, range(10))
    begin_next_second()
    init(sync_tensorboard=True)
    log(writer, range(10, 20))
    writer.close()
    import wandb
    wandb.finish()
    """
    (run,) = run_wandb(tmp_path, code, imports)
    assert run.series == {"train/loss": POINTS}


@pytest.mark.parametrize("order", ["first", "later"])
def test_every_point_arrives_if_the_program_ends_without_a_call(tmp_path: Path, order: str) -> None:
    """The writer is not closed and the run is not finished."""
    start = "begin_next_second()\n    init(sync_tensorboard=True)"
    code = f"""
    {start if order == "first" else ""}
    writer = SummaryWriter("runs/a")
    log(writer, range(10))
    {start if order == "later" else ""}
    log(writer, range(10, 20))
    """
    (run,) = run_wandb(tmp_path, code)
    assert run.series == {"train/loss": POINTS}


def test_every_point_arrives_if_the_run_finishes_before_the_writer_is_closed(
    tmp_path: Path,
) -> None:
    """Pending events are written before W&B reads to the end."""
    code = """
    wandb.tensorboard.patch(root_logdir="runs/a")
    init()
    writer = SummaryWriter("runs/a", flush_secs=600)
    log(writer, range(20))
    wandb.finish()
    writer.close()
    """
    (run,) = run_wandb(tmp_path, code)
    assert run.series == {"train/loss": POINTS}


def test_a_flush_lets_a_run_that_started_later_see_the_writer(tmp_path: Path) -> None:
    """The run does not wait for the background thread."""
    code = """
    writer = SummaryWriter("runs/a")
    log(writer, range(20))
    begin_next_second()
    init(sync_tensorboard=True)
    writer.flush()
    wandb.finish()
    writer.close()
    """
    (run,) = run_wandb(tmp_path, code)
    assert run.series == {"train/loss": POINTS}


def test_each_run_receives_what_was_logged_in_it(tmp_path: Path) -> None:
    """One writer is open during two runs; the points between them go to the second."""
    code = """
    wandb.tensorboard.patch(root_logdir="runs/a")
    init()
    writer = SummaryWriter("runs/a")
    log(writer, range(5))
    wandb.finish()
    log(writer, range(5, 10))
    begin_next_second()
    init()
    log(writer, range(10, 20))
    writer.close()
    wandb.finish()
    """
    first, second = run_wandb(tmp_path, code)
    assert first.series == {"train/loss": POINTS[:5]}
    assert second.series == {"train/loss": POINTS[5:]}


@pytest.mark.parametrize("order", ["first", "later"])
def test_tags_are_prefixed_with_the_folder_below_the_root(tmp_path: Path, order: str) -> None:
    """W&B does the same for torch's writers."""
    code = f"""
    wandb.tensorboard.patch(root_logdir="runs")
    {"init()" if order == "first" else ""}
    writers = [SummaryWriter("runs/train"), SummaryWriter("runs/deep/val")]
    {"begin_next_second(); init()" if order == "later" else ""}
    for writer in writers:
        log(writer, range(20))
        writer.close()
    wandb.finish()
    """
    (run,) = run_wandb(tmp_path, code)
    assert run.series == {"train/train/loss": POINTS, "deep/val/train/loss": POINTS}


@pytest.mark.parametrize(
    ("module", "order"),
    [("torch.utils.tensorboard", "first"), ("runfold", "first"), ("runfold", "later")],
)
def test_tags_are_prefixed_with_the_differing_part_of_their_folders(
    tmp_path: Path, module: str, order: str
) -> None:
    """Without a root, W&B adds this prefix. It misses torch's writers that were created earlier."""
    code = f"""
    from {module} import SummaryWriter
    {"init(sync_tensorboard=True)" if order == "first" else ""}
    writers = [SummaryWriter("runs/train"), SummaryWriter("runs/val")]
    {"begin_next_second(); init(sync_tensorboard=True)" if order == "later" else ""}
    for writer in writers:
        log(writer, range(20))
        writer.flush()
    for writer in writers:
        writer.close()
    wandb.finish()
    """
    (run,) = run_wandb(tmp_path, code)
    assert run.series == {"train/train/loss": POINTS, "val/train/loss": POINTS}


def test_every_point_arrives_if_several_writers_share_a_folder(tmp_path: Path) -> None:
    """By itself, W&B would stop reading the first file and read only the second."""
    code = """
    wandb.tensorboard.patch(root_logdir="runs")
    init()
    first, second = SummaryWriter("runs/a"), SummaryWriter("runs/a")
    below = SummaryWriter("runs/a/val")
    for step in range(20):
        for number, writer in enumerate((first, second, below)):
            writer.add_scalar(f"loss/{number}", 1 / (step + 1), step)
    for writer in (second, below, first):
        writer.close()
    wandb.finish()
    """
    (run,) = run_wandb(tmp_path, code)
    assert run.series == {"a/loss/0": POINTS, "a/loss/1": POINTS, "a/val/loss/2": POINTS}


@pytest.mark.parametrize("order", ["first", "later"])
def test_a_reopened_writer_stays_in_sync(tmp_path: Path, order: str) -> None:
    """After `close`, the next call opens another file in the same folder."""
    code = f"""
    wandb.tensorboard.patch(root_logdir="runs/a")
    {"init()" if order == "first" else ""}
    writer = SummaryWriter("runs/a")
    log(writer, range(10))
    {"begin_next_second(); init()" if order == "later" else ""}
    writer.close()
    log(writer, range(10, 20))
    writer.close()
    wandb.finish()
    """
    (run,) = run_wandb(tmp_path, code)
    assert sorted(run.series["train/loss"]) == POINTS


def test_images_histograms_and_curves_arrive_as_from_torch(tmp_path: Path) -> None:
    """W&B shows the same rows for both writers."""
    code = """
    import torch
    from {module} import SummaryWriter
    wandb.tensorboard.patch(root_logdir="runs/a")
    init()
    writer = SummaryWriter("runs/a")
    for step in range(3):
        values = np.arange(100.0) + step
        writer.add_histogram("weights", values, step)
        writer.add_image("picture", np.full((3, 6, 5), step * 0.25, np.float32), step)
        writer.add_scalar("new", 0.5 + step, step, new_style=True)
        writer.add_pr_curve("pr", np.array([0, 1, 1]), np.array([0.1, 0.7, 0.9]), step)
        writer.add_text("note", "hello", step)
    writer.close()
    wandb.finish()
    """
    runs = []
    for module in ("torch.utils.tensorboard", "runfold"):
        folder = tmp_path / module
        folder.mkdir()
        (run,) = run_wandb(folder, code.format(module=module))
        runs.append(run)
    original, ours = runs
    assert ours.values == original.values
    assert _images(ours) == _images(original)
    kinds = {tag.partition("/")[0] for _, tag in ours.values}
    assert kinds == {"weights", "picture", "new", "pr"}
    assert len(_images(ours)) == 3


def _images(run: WandbRun) -> list[tuple[int, tuple[int, int], bytes]]:
    pictures = []
    for row in run.rows:
        if "picture/filenames" in row:
            (name,) = row["picture/filenames"]
            data = run.folder.joinpath("files", name).read_bytes()
            image = PIL.Image.open(io.BytesIO(data))
            pictures.append((row["global_step"], image.size, image.convert("RGB").tobytes()))
    return pictures


@pytest.mark.parametrize(
    "options", ["sync_trackers=False", "write_to_disk=False"], ids=["opt-out", "silent"]
)
def test_a_writer_with_sync_trackers_false_is_not_seen(tmp_path: Path, options: str) -> None:
    """W&B does not see its trials either, but it sees another writer next to it."""
    code = f"""
    wandb.tensorboard.patch(root_logdir="runs")
    init()
    hidden, seen = SummaryWriter("runs/hidden", {options}), SummaryWriter("runs/seen")
    log(hidden, range(20))
    for rate in (0.1, 0.2):
        hidden.add_hparams({{"lr": rate}}, {{"best": rate}})
    log(seen, range(20))
    hidden.close()
    seen.close()
    wandb.finish()
    """
    (run,) = run_wandb(tmp_path, code)
    assert run.series == {"seen/train/loss": POINTS}
    assert len(run.logdirs) == 1


def test_every_trial_of_one_writer_arrives(tmp_path: Path) -> None:
    """The first call to `add_hparams` logs to the run, later ones to folders below it."""
    code = """
    wandb.tensorboard.patch(root_logdir="runs")
    init()
    with SummaryWriter("runs/a") as writer:
        for number in range(3):
            writer.add_hparams({"lr": 0.1 * number}, {"best": float(number)}, global_step=0)
        log(writer, range(20))
    wandb.finish()
    """
    (run,) = run_wandb(tmp_path, code)
    assert run.series == {
        "a/train/loss": POINTS,
        "a/best": [(0, 0)],
        "a/trial-2/best": [(0, 1)],
        "a/trial-3/best": [(0, 2)],
    }


def test_a_run_without_tensorboard_sync_receives_nothing(tmp_path: Path) -> None:
    """Only `sync_tensorboard=True` and `wandb.tensorboard.patch` request a sync."""
    code = """
    init()
    writer = SummaryWriter("runs/a")
    log(writer, range(20))
    writer.close()
    wandb.finish()
    """
    (run,) = run_wandb(tmp_path, code)
    assert run.rows == []
    assert run.logdirs == []


def test_a_disabled_run_leaves_the_writer_alone(tmp_path: Path) -> None:
    """This holds even if TensorBoard is already patched."""
    code = """
    wandb.tensorboard.patch(root_logdir="runs")
    init(mode="disabled")
    writer = SummaryWriter("runs/a")
    log(writer, range(20))
    writer.close()
    wandb.finish()
    assert os.path.getsize(writer.path) > 20 * 40
    """
    assert run_wandb(tmp_path, code) == []


def test_a_forked_process_leaves_the_run_to_its_parent(tmp_path: Path) -> None:
    """Otherwise, the child would wait forever for W&B's threads, which exist only in the parent."""
    code = """
    import multiprocessing
    wandb.tensorboard.patch(root_logdir="runs")
    init()
    writer = SummaryWriter("runs/a")
    log(writer, range(20))
    writer.flush()

    def work():
        other = SummaryWriter("runs/b")
        log(other, range(20))
        other.close()

    process = multiprocessing.get_context("fork").Process(target=work)
    process.start()
    process.join(60)
    assert process.exitcode == 0
    writer.close()
    wandb.finish()
    """
    (run,) = run_wandb(tmp_path, code)
    assert run.series == {"a/train/loss": POINTS}
    assert len(list(tmp_path.glob("runs/b/*tfevents*"))) == 1


def test_a_forked_process_syncs_the_run_that_it_starts(tmp_path: Path) -> None:
    """The parent's writer, which W&B does not know about, is not synced."""
    code = """
    import multiprocessing
    wandb.tensorboard.patch(root_logdir="runs")
    outer = SummaryWriter("runs/outer")
    log(outer, range(20))
    outer.flush()

    def work():
        init()
        inner = SummaryWriter("runs/inner")
        log(inner, range(20))
        wandb.finish()
        inner.close()

    process = multiprocessing.get_context("fork").Process(target=work)
    process.start()
    process.join(60)
    assert process.exitcode == 0
    outer.close()
    """
    (run,) = run_wandb(tmp_path, code)
    assert run.series == {"inner/train/loss": POINTS}


def test_threads_that_open_writers_do_not_wait_for_each_other(tmp_path: Path) -> None:
    """A thread that opens a file, and the thread that reads it for W&B, used to deadlock."""
    code = """
    import threading
    wandb.tensorboard.patch(root_logdir="runs")
    init()

    def work(name):
        for number in range(150):
            writer = SummaryWriter(f"runs/{name}")
            writer.add_scalar("loss", number, number)
            writer.flush()
            writer.close()

    threads = [threading.Thread(target=work, args=(name,)) for name in "abcd"]
    for thread in threads: thread.start()
    for thread in threads: thread.join()
    wandb.finish()
    """
    (run,) = run_wandb(tmp_path, code)
    assert {tag: len(points) for tag, points in run.series.items()} == {
        f"{name}/loss": 150 for name in "abcd"
    }
