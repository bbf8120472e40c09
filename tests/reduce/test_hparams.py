"""A metric logged every epoch and again by add_hparams is one point in every reduction."""

import pytest
from matplotlib import image

import runfold as rf
from runfold._cli import main
from runfold.errors import CannotFold


@pytest.fixture
def sweep(tmp_path):
    """Write two seeds for each of two rates; add_hparams repeats the last value or logs another."""
    for rate in (0.1, 0.2):
        for seed in range(2):
            with rf.SummaryWriter(tmp_path / f"lr-{rate}" / f"seed-{seed}") as writer:
                for epoch in range(3):
                    writer.add_scalar("val/acc", rate + seed + epoch, epoch)
                    writer.add_scalar("val/f1", rate + seed + epoch, epoch)
                given = {"lr": rate, "seed": seed}
                writer.add_hparams(given, {"val/acc": rate + seed + 2, "val/f1": 8.0 + seed})
    return tmp_path


def test_reduce_accepts_a_metric_that_add_hparams_logged_again(sweep):
    reduced = rf.open(sweep).reduce("mean", by="lr")
    acc, f1 = (reduced["lr=0.1", tag] for tag in ("val/acc", "val/f1"))
    assert acc.x.tolist() == f1.x.tolist() == [0, 1, 2]
    assert acc["mean"].tolist() == pytest.approx([0.6, 1.6, 2.6])
    assert f1["mean"].tolist() == pytest.approx([0.6, 1.6, 8.5])
    assert reduced.left_out == ("4 duplicate points",)


def test_explicit_policy_is_followed(sweep):
    runs = rf.open(sweep)
    for policy, last in {"first": 2.6, "last": 8.5, "mean": (2.6 + 8.5) / 2}.items():
        reduced = runs.reduce("mean", by="lr", duplicates=policy)
        assert reduced["lr=0.1", "val/f1"]["mean"][-1] == pytest.approx(last)


def test_compare_and_table_use_the_value_shown_in_tensorboard(sweep):
    runs = rf.open(sweep)
    scores = runs.compare("val/f1", by="lr", better="higher").scores
    assert [score.score for score in scores] == [8.0, 9.0] * 2
    assert runs.table(columns=["val/f1"])["val/f1"].tolist() == [8.0, 9.0] * 2


def test_commands_reduce_plot_and_compare_accept_these_runs(sweep, tmp_path, capsys):
    picture, folded = tmp_path / "acc.png", tmp_path / "folded"
    assert main(["reduce", str(sweep), "--by", "lr", "-o", str(folded)]) == 0
    assert main(["plot", str(sweep), "--tags", "val/acc", "--by", "lr", "-o", str(picture)]) == 0
    assert main(["compare", str(sweep), "--tag", "val/acc", "--by", "lr"]) == 0
    assert image.imread(picture).size
    assert "val/acc" in capsys.readouterr().out


def test_series_with_two_values_at_a_step_still_raises(sweep):
    with rf.SummaryWriter(sweep / "other") as writer:
        for value in (0.5, 0.25):
            writer.add_scalar("loss", value, 1)
    with pytest.raises(CannotFold, match="Tag 'loss' in run 'other' has more than one value"):
        rf.open(sweep).reduce("mean", tags="loss", lax_tags=True)
