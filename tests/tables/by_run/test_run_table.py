"""The table with one row per run: the values of its columns."""

import datetime
import math
from pathlib import Path

import numpy as np
import pytest
from helpers.logs import hparams, scalars, values, write
from helpers.writers import PIXELS, png
from torch.utils.tensorboard import SummaryWriter

import runfold as rf
from runfold._events.value_encoding import histogram, hparams_end, image, image_tensor, text
from runfold._tables.frames.frame import Table
from runfold.errors import CannotFold

HEIGHT, WIDTH, _ = PIXELS.shape


def picture(shift: int = 0) -> bytes:
    return image("sample", HEIGHT, WIDTH, 3, png(PIXELS + shift))


def test_row_has_the_hparams_and_last_values_of_a_run(tmp_path: Path):
    write(tmp_path / "a", hparams(lr=0.5, bias=True), scalars("val/loss", (0, 3.0), (7, 2.0)))
    write(tmp_path / "b", hparams(lr=0.1, model="mlp"), scalars("val/acc", (3, 0.5)))
    table = rf.open(tmp_path).table()
    assert type(table) is Table
    fixed = ["run", "status", "start", "duration", "steps"]
    assert list(table) == [*fixed, "bias", "lr", "model", "val/loss", "val/acc"]
    assert table["run"].tolist() == ["a", "b"]
    assert table["status"].tolist() == ["unknown", "unknown"]
    first = datetime.datetime(1970, 1, 1, 0, 0, 1, tzinfo=datetime.UTC)
    assert table["start"].tolist() == [first, first]
    assert table["duration"].tolist() == [10.0, 9.0]
    assert table["steps"].tolist() == [7, 3]
    assert table["lr"].tolist() == [0.5, 0.1]
    assert table["bias"].tolist() == [True, None]
    assert table["model"].tolist() == [None, "mlp"]
    np.testing.assert_array_equal(table["val/loss"], [2.0, np.nan])
    np.testing.assert_array_equal(table["val/acc"], [np.nan, 0.5])
    assert table["val/loss"].dtype == np.float64


def test_every_statistic_has_its_column(tmp_path: Path):
    write(tmp_path, scalars("loss", (0, 4.0), (2, 1.0), (4, 3.0)), scalars("acc", (0, 0.5)))
    table = rf.open(tmp_path).table(
        last=False, best=True, min="loss", max="l*", mean=["loss"], auc="loss", first="loss", at=3
    )
    assert table.iloc[0, 5:].to_dict() == {
        "best loss": 1.0,
        "best_step loss": 2,
        "best acc": 0.5,
        "best_step acc": 0,
        "min loss": 1.0,
        "max loss": 4.0,
        "mean loss": 8 / 3,
        "auc loss": 9.0,
        "first loss": 4.0,
        "at 3 loss": 1.0,
        "at 3 acc": pytest.approx(math.nan, nan_ok=True),
    }


def test_at_accepts_several_steps_and_steps_by_tag(tmp_path: Path):
    write(tmp_path, scalars("a", (0, 1.0), (9, 2.0)), scalars("b", (0, 3.0), (9, 4.0)))
    runs = rf.open(tmp_path)
    both = runs.table(last=False, at=[0, 9])
    assert list(both)[5:] == ["at 0 a", "at 0 b", "at 9 a", "at 9 b"]
    assert runs.table(last=False, at={"b": [5, 9]}).iloc[0, 5:].tolist() == [3.0, 4.0]


def test_best_uses_the_specified_direction(tmp_path: Path):
    write(tmp_path, scalars("x", (0, 1.0), (1, 2.0)), scalars("loss", (0, 1.0), (1, 2.0)))
    runs = rf.open(tmp_path)
    assert list(runs.table(last=False, best="*"))[5:] == ["best loss", "best_step loss"]
    table = runs.table(last=False, best=True, better={"x": "higher"})
    assert table[["best x", "best loss"]].iloc[0].tolist() == [2.0, 1.0]
    assert runs.table(best="*", better="higher")["best loss"].tolist() == [2.0]
    with pytest.raises(
        CannotFold, match="Cannot tell from the name of 'x' whether higher or lower is better"
    ):
        runs.table(best="x")


def test_nested_hparams_have_dotted_names_and_integers_stay_integers(tmp_path: Path):
    for seed in (0, 1):
        settings = {"seed": seed, "optim": {"lr": 0.5, "betas": {"first": 1}}}
        with rf.track(tmp_path / str(seed), hparams=settings, system=False) as run:
            run.log({"loss": 1.0}, step=3)
    table = rf.open(tmp_path).table()
    assert list(table)[5:] == ["optim.betas.first", "optim.lr", "seed", "loss"]
    assert table["seed"].dtype == np.int64
    assert table["seed"].tolist() == [0, 1]
    assert table["optim.lr"].tolist() == [0.5, 0.5]
    assert table["status"].tolist() == ["finished", "finished"]
    assert (table["duration"] > 0).all()


def test_tags_that_tracked_runs_add_are_shown_on_request(tmp_path: Path):
    write(tmp_path, scalars("loss", (0, 1.0)), scalars("system/cpu", (99, 50.0)))
    write(tmp_path, values(text("runfold/output", "```\nhello\n```")), number=2)
    runs = rf.open(tmp_path)
    assert list(runs.table())[4:] == ["steps", "loss"]
    assert runs.table()["steps"].tolist() == [0]
    table = runs.table(last="system/*", text="runfold/*")
    assert table.iloc[0, 5:].to_dict() == {"system/cpu": 50.0, "runfold/output": "```\nhello\n```"}


def test_hparams_written_by_torch_belong_to_their_run(tmp_path: Path):
    with SummaryWriter(str(tmp_path / "run")) as writer:
        writer.add_scalar("loss", 0.5, 1)
        writer.add_hparams({"lr": 0.1, "model": "mlp"}, {"hparam/acc": 0.75})
    runs = rf.open(tmp_path)
    assert list(runs) == ["run"]
    for table in (runs.table(), runs.table(runs="run")):
        assert table["run"].tolist() == ["run"]
        assert table.iloc[0, 5:].to_dict() == {
            "lr": 0.1,
            "model": "mlp",
            "loss": 0.5,
            "hparam/acc": 0.75,
        }
        assert table["status"].tolist() == ["finished"]


def test_run_starts_with_its_own_events_not_with_its_hparams(tmp_path: Path):
    write(tmp_path / "run", scalars("loss", (0, 0.5), (1, 0.4)))
    with SummaryWriter(str(tmp_path / "run")) as writer:
        writer.add_hparams({"lr": 0.1}, {"hparam/acc": 0.75})
    table = rf.open(tmp_path).table()
    assert table["status"].tolist() == ["finished"]
    assert table["start"].dt.year.tolist() == [1970]
    assert (table["duration"] > 0).all()


def test_trials_of_torch_in_one_folder_have_separate_rows(tmp_path: Path):
    with SummaryWriter(str(tmp_path / "run")) as writer:
        for number in range(3):
            name = f"{10**9}.{number}"
            writer.add_hparams({"lr": 0.1 * number}, {"hparam/acc": number}, run_name=name)
    table = rf.open(tmp_path).table()
    assert table["run"].tolist() == ["run", *(f"run/1000000000.{number}" for number in range(3))]
    np.testing.assert_array_equal(table["lr"], [np.nan, 0.0, 0.1, 0.2])
    np.testing.assert_array_equal(table["hparam/acc"], [np.nan, 0.0, 1.0, 2.0])


def test_last_texts_and_images_are_shown(tmp_path: Path):
    write(
        tmp_path / "a",
        values(text("note/text_summary", "old"), picture(), step=1),
        values(text("note/text_summary", "new"), picture(1), step=5),
        values(text("note/text_summary", "restarted"), step=3),
    )
    write(tmp_path / "b", values(image_tensor("sample", WIDTH, HEIGHT, [png(PIXELS)] * 2)))
    table = rf.open(tmp_path, restarts="keep").table()
    assert list(table)[5:] == ["note", "sample"]
    assert table["note"].tolist() == ["new", None]
    np.testing.assert_array_equal(table["sample"][0].numpy(), PIXELS + 1)
    assert table["sample"][1].pil().size == (WIDTH, HEIGHT)
    assert table["steps"].tolist() == [5, 0]
    assert list(rf.open(tmp_path).table(text=False, images=False))[5:] == []


def test_other_kinds_are_counted(tmp_path: Path):
    weights = histogram("weights", -1, 1, 4, 0, 2, [0.0, 1.0], [1, 3])
    write(tmp_path / "a", values(weights), values(weights, step=1))
    write(tmp_path / "b", scalars("loss", (0, 1.0)))
    assert rf.open(tmp_path).table()["histograms"].tolist() == [2, 0]


def test_status_of_an_hparams_session_is_used(tmp_path: Path):
    write(tmp_path / "a", hparams(lr=1.0), values(hparams_end("failure", 61.0)))
    table = rf.open(tmp_path).table()
    assert table["status"].tolist() == ["failed"]
    assert table["duration"].tolist() == [60.0]


def test_no_runs_make_an_empty_table(tmp_path: Path):
    table = rf.open(tmp_path).table()
    assert table.shape == (0, 5)


def test_invalid_times_are_missing(tmp_path: Path):
    write(tmp_path, lambda buffer: buffer.scalar("loss", 1.0, 0, -1e300))
    table = rf.open(tmp_path).table()
    assert table["start"].isna().tolist() == [True]
