"""The whole reduction, from logs to curves, compared with NumPy and pandas."""

import tracemalloc

import numpy as np
import pandas as pd
import pytest
from helpers.logs import scalars, values, write

import runfold as rf
from runfold._events.value_encoding import histogram, text
from runfold._reduce import align as alignment
from runfold.errors import CannotFold, UnknownStatistic, UnknownTag


def log(folder, **runs):
    """Write runs with one tag, `loss`, from {step: value} or a list that starts at step 0."""
    for name, points in runs.items():
        if isinstance(points, list):
            points = dict(enumerate(points))
        write(folder / name, scalars("loss", *points.items()))
    return rf.open(folder)


def test_statistics_match_pandas(tmp_path):
    rng = np.random.default_rng(1)
    table = pd.DataFrame(rng.normal(size=(50, 4)), columns=list("abcd"))
    runs = log(tmp_path, **{name: table[name].tolist() for name in table})
    curve = runs.reduce(["mean", "std", "sem", "median", "q25", "min", "max", "count"])["loss"]
    assert curve.x.tolist() == list(range(50))
    assert curve.x.dtype == np.int64
    assert curve.runs == ("a", "b", "c", "d")
    for name in ("mean", "std", "sem", "median", "min", "max", "count"):
        np.testing.assert_allclose(curve[name], getattr(table, name)(axis=1), rtol=1e-12)
    np.testing.assert_allclose(curve["q25"], table.quantile(0.25, axis=1), rtol=1e-12)


def test_wall_times_are_the_mean_over_the_runs(tmp_path):
    for name, start in {"a": 100.0, "b": 110.0}.items():
        write(tmp_path / name, lambda buffer, at=start: buffer.scalar("loss", 1.0, 5, at))
    assert rf.open(tmp_path).reduce()["loss"].wall_times.tolist() == [105.0]


@pytest.mark.fault(63)
def test_different_steps_raise_with_a_list_of_gaps(tmp_path):
    runs = log(tmp_path, a={0: 1.0, 1: 1.0, 2: 1.0}, b={0: 1.0, 2: 1.0}, c={0: 1.0, 1: 1.0, 3: 1.0})
    with pytest.raises(CannotFold) as caught:
        runs.reduce()
    message = str(caught.value)
    assert "The runs do not have the same steps, so nothing was reduced:" in message
    assert (
        "tag 'loss': steps missing in a (1 of 4, first 3), b (2 of 4, first 1),"
        " c (1 of 4, first 2)" in message
    )
    assert "align='interpolate'" in message
    assert "--align" in message


@pytest.mark.fault(63)
def test_equal_number_of_different_steps_raises(tmp_path):
    runs = log(tmp_path, a={0: 1.0, 10: 1.0}, b={1: 1.0, 11: 1.0})
    with pytest.raises(CannotFold, match="do not have the same steps"):
        runs.reduce()
    with pytest.raises(CannotFold, match="Left out: tag loss in all groups; 4 steps"):
        runs.reduce(align="intersection")


@pytest.mark.fault(63)
def test_different_tags_raise_unless_lax(tmp_path):
    write(tmp_path / "a", scalars("loss", (0, 1.0)), scalars("extra", (0, 5.0)))
    write(
        tmp_path / "b",
        scalars("loss", (0, 3.0)),
        values(histogram("extra", 0, 1, 1, 1, 1, [1], [1])),
    )
    runs = rf.open(tmp_path)
    with pytest.raises(CannotFold) as caught:
        runs.reduce()
    assert "tag 'extra' is missing in b (where it contains histogram data)" in str(caught.value)
    assert "--lax-tags" in str(caught.value)
    reduced = runs.reduce("mean", lax_tags=True)
    assert reduced["extra"].runs == ("a",)
    assert reduced["extra"]["mean"].tolist() == [5.0]
    assert reduced["loss"]["mean"].tolist() == [2.0]
    assert reduced.remarks == ("Reduced over fewer runs than the group has: tag extra.",)


def test_tag_missing_in_a_whole_group_is_not_a_gap(tmp_path):
    write(tmp_path / "ppo" / "1", scalars("loss", (0, 1.0)), scalars("clip", (0, 5.0)))
    write(tmp_path / "dqn" / "1", scalars("loss", (0, 3.0)))
    reduced = rf.open(tmp_path).reduce("mean", by="parent")
    assert list(reduced.groups["ppo"].curves) == ["loss", "clip"]
    assert list(reduced.groups["dqn"].curves) == ["loss"]


def test_seeds_that_log_at_different_steps_are_interpolated(tmp_path):
    runs = log(tmp_path, a={0: 0.0, 10: 10.0}, b={5: 0.0, 15: 10.0})
    reduced = runs.reduce(["mean", "count"], align="interpolate")
    assert reduced["loss"].x.tolist() == [0, 5, 10, 15]
    assert reduced["loss"]["mean"].tolist() == [0.0, 2.5, 7.5, 10.0]
    assert reduced["loss"]["count"].tolist() == [1, 2, 2, 1]
    assert reduced.align == "interpolate"
    both = runs.reduce("mean", align="interpolate", min_runs=2)
    assert both["loss"].x.tolist() == [5, 10]
    assert both.left_out == ("2 steps that fewer than 2 runs have",)


def test_bins_are_the_same_for_all_groups(tmp_path):
    write(tmp_path / "a" / "1", scalars("loss", *((step, 1.0) for step in range(100))))
    write(tmp_path / "b" / "1", scalars("loss", *((step, 2.0) for step in range(0, 50, 5))))
    reduced = rf.open(tmp_path).reduce("mean", by="parent", bins=10)
    assert reduced["a", "loss"].x.tolist() == [4, 14, 24, 34, 44, 54, 64, 74, 84, 94]
    assert reduced["b", "loss"].x.tolist() == [4, 14, 24, 34, 44]


@pytest.mark.fault(30)
def test_nan_is_skipped_and_reported(tmp_path):
    runs = log(tmp_path, a=[1.0, np.nan, 3.0], b=[3.0, 4.0, 5.0])
    reduced = runs.reduce(["mean", "count"])
    assert reduced["loss"]["mean"].tolist() == [2.0, 4.0, 4.0]
    assert reduced["loss"]["count"].tolist() == [2, 1, 2]
    assert reduced.nan == "skip"
    assert reduced.left_out == ("1 NaN in run a",)
    assert "NaN skipped" in repr(reduced)


@pytest.mark.fault(30)
def test_nan_is_propagated_on_request_and_reported(tmp_path):
    reduced = log(tmp_path, a=[1.0, np.nan, 3.0], b=[3.0, 4.0, 5.0]).reduce("mean", nan="propagate")
    np.testing.assert_array_equal(reduced["loss"]["mean"], [2.0, np.nan, 4.0])
    assert reduced.remarks == ("1 NaN in run a made the statistics at the same x values NaN.",)


@pytest.mark.fault(30)
def test_skipped_nan_is_interpolated_and_propagated_nan_spreads(tmp_path):
    runs = log(tmp_path, a={0: 0.0, 5: np.nan, 10: 10.0}, b={0: 0.0, 4: 4.0, 10: 10.0})
    skipped = runs.reduce("mean", align="interpolate")["loss"]
    assert (skipped.x.tolist(), skipped["mean"].tolist()) == ([0, 4, 10], [0.0, 4.0, 10.0])
    spread = runs.reduce("mean", align="interpolate", nan="propagate")["loss"]
    np.testing.assert_array_equal(spread["mean"], [0.0, np.nan, np.nan, 10.0])


def test_single_run_has_a_mean_but_no_spread(tmp_path):
    reduced = log(tmp_path, a=[1.0, 2.0]).reduce(["mean", "std", "ci95"])
    assert reduced["loss"]["mean"].tolist() == [1.0, 2.0]
    assert np.isnan(reduced["loss"]["std"]).all()
    (remark,) = reduced.remarks
    assert remark.startswith("Only one run in total, so std, ")


def test_groups_are_reduced_separately_and_have_their_key(tmp_path):
    for folder, value in {"lr-1": 1.0, "lr-2": 5.0}.items():
        for seed in range(3):
            write(tmp_path / folder / f"s{seed}", scalars("loss", (0, value + seed)))
    reduced = rf.open(tmp_path).reduce("mean", by=r"lr-(?P<lr>\d)")
    assert list(reduced.groups) == ["lr=1", "lr=2"]
    assert reduced.groups["lr=2"].key == {"lr": "2"}
    assert reduced["lr=2", "loss"]["mean"].tolist() == [6.0]
    with pytest.raises(
        CannotFold, match=r"There are 2 groups; select one of them: reduced\['lr=1', 'loss'\]"
    ):
        reduced["loss"]
    with pytest.raises(UnknownTag, match=r"after the group: reduced\['lr=2', 'loss'\]"):
        reduced["lr=2"]
    assert repr(reduced["lr=2", "loss"]) == "Curve('loss', 3 runs, 1 point: mean)"
    with pytest.raises(CannotFold, match=r"No group 'lr=3'. Did you mean 'lr=1' or 'lr=2'"):
        reduced["lr=3", "loss"]
    with pytest.raises(UnknownTag, match=r"Tag 'los' was not reduced. Did you mean 'loss'"):
        reduced["lr=1", "los"]
    with pytest.raises(UnknownStatistic, match="Statistic 'std' was not computed"):
        reduced["lr=1", "loss"]["std"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"ops": "menn"}, "Did you mean 'mean'"),
        ({"align": "interpolat"}, "Did you mean 'interpolate'"),
        ({"align": "bins"}, "align='bins' requires the number of bins"),
        ({"bins": 0}, "bins must be a positive whole number, got 0"),
        ({"bins": 5, "align": "union"}, "cannot be combined. Use one of them."),
        ({"min_runs": 1.5}, "min_runs must be a positive whole number, got 1.5"),
        ({"nan": "drop"}, "nan must be one of 'skip', 'propagate', not 'drop'"),
        ({"duplicates": "frst"}, "Did you mean 'first'"),
        ({"x": "stepp"}, "No tag 'stepp' for the x-axis. Did you mean 'step'"),
        ({"tags": "los"}, "No tag 'los' of kind scalar. Did you mean 'loss'"),
        ({"tags": "note"}, "Tag 'note' in run 'a' contains text data, not scalars."),
    ],
)
def test_invalid_option_raises_with_alternatives(tmp_path, options, message):
    write(tmp_path / "a", scalars("loss", (0, 1.0)), values(text("note", "hello")))
    with pytest.raises(rf.errors.RunfoldError) as caught:
        rf.open(tmp_path).reduce(**options)
    assert message in str(caught.value)


def test_runs_without_scalars_raise(tmp_path):
    write(tmp_path / "a", values(text("note", "hello")))
    with pytest.raises(CannotFold, match="There are no scalars in 1 run"):
        rf.open(tmp_path).reduce()


def test_tag_of_the_axis_is_not_reduced(tmp_path):
    for name, per_step in {"a": 10, "b": 20}.items():
        write(
            tmp_path / name,
            scalars("loss", *((step, float(step * per_step)) for step in range(5))),
            scalars("samples", *((step, float(step * per_step)) for step in range(5))),
        )
    reduced = rf.open(tmp_path).reduce("mean", x="samples", align="interpolate")
    assert reduced.tags == ["loss"]
    assert reduced["loss"].x.tolist() == [0.0, 10.0, 20.0, 30.0, 40.0, 60.0, 80.0]
    np.testing.assert_allclose(reduced["loss"]["mean"], reduced["loss"].x)
    assert reduced.x == "samples"


@pytest.mark.parametrize(("progress", "is_shown"), [(True, True), (False, False), (None, False)])
def test_progress_bar_is_shown_on_request_and_not_in_a_pipe(tmp_path, progress, is_shown, capsys):
    write(tmp_path / "a", scalars("loss", (0, 1.0)), scalars("acc", (0, 1.0)))
    rf.open(tmp_path, progress=progress).reduce("mean")
    assert ("Reducing" in (output := capsys.readouterr().err)) == is_shown
    assert ("/2.00 " in output) == is_shown


@pytest.mark.parametrize("align", ["union", "interpolate"])
def test_runs_with_different_steps_need_little_more_memory_than_their_values(tmp_path, align):
    steps, count = 2000, 40
    for run in range(count):
        points = [(step * count + run, float(step)) for step in range(steps)]
        write(tmp_path / f"seed-{run}", scalars("loss", *points))
    runs = rf.open(tmp_path)
    runs.scalars()
    tracemalloc.start()
    curve = runs.reduce(["mean", "std"], align=align)["loss"]
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert len(curve) == steps * count
    assert peak < 2 * (8 * count * len(curve))


def test_axis_is_named_in_messages(tmp_path):
    for name, start in {"a": 0.0, "b": 0.5}.items():
        seen = scalars("samples", (0, start), (1, start + 1.0))
        write(tmp_path / name, scalars("loss", (0, 1.0), (1, 2.0)), seen)
    runs = rf.open(tmp_path)
    with pytest.raises(CannotFold) as caught:
        runs.reduce(x="samples")
    assert str(caught.value).startswith(
        "The runs do not have the same values of 'samples', so nothing was reduced:\n"
        "  tag 'loss': values of 'samples' missing in a (2 of 4, first 0.5),"
    )
    write(tmp_path / "b", scalars("loss", (0, 1.0), (1, 2.0), (2, 3.0)))
    runs = rf.open(tmp_path)
    with pytest.raises(CannotFold, match="the same relative times, so") as caught:
        runs.reduce(tags="loss", x="relative")
    assert "tag 'loss': relative times missing in a (1 of 3, first 11.0)" in str(caught.value)
    described = runs.reduce(tags="loss", x="relative", align="union").describe()
    assert described.endswith("mean, std by relative time (aligned by union, NaN skipped)")
    described = runs.reduce(x="wall_time", runs="a").describe()
    assert described.endswith("by wall time (same wall times in all, NaN skipped)")


def test_run_without_the_axis_tag_raises_or_is_left_out(tmp_path):
    for name in "ab":
        seen = scalars("samples", (0, 10.0), (1, np.inf))
        write(tmp_path / name, scalars("loss", (0, 1.0), (1, 2.0)), seen)
    write(tmp_path / "c", scalars("loss", (0, 1.0), (1, 2.0)))
    runs = rf.open(tmp_path)
    with pytest.raises(CannotFold) as caught:
        runs.reduce(x="samples", align="union")
    assert str(caught.value) == (
        "The x-axis is a tag that some runs lack, so nothing was reduced: 1 run without tag "
        "'samples': c. To leave these runs out, set lax_tags=True (--lax-tags)."
    )
    reduced = runs.reduce(x="samples", lax_tags=True)
    assert reduced.runs == ["a", "b"]
    assert reduced.left_out == (
        "1 run without tag 'samples': c",
        "2 points without a finite value of 'samples'",
    )
    assert reduced["loss"].x.tolist() == [10.0]


@pytest.mark.parametrize("duplicates", ["first", "last"])
def test_duplicates_and_hidden_points_are_reported(tmp_path, duplicates):
    points = (0, 1.0), (1, 2.0), (2, 3.0), (1, 5.0), (2, 6.0)
    write(tmp_path / "a", scalars("loss", *points))
    reduced = rf.open(tmp_path).reduce("mean", duplicates=duplicates)
    assert reduced.left_out == ("2 duplicate points",)
    assert rf.open(tmp_path).reduce("mean", duplicates="mean").left_out == ()
    reduced = rf.open(tmp_path, restarts="step").reduce("mean")
    assert reduced.left_out == ("2 points hidden by a restart",)


def test_steps_of_a_single_run_are_counted_and_have_no_spread(tmp_path):
    runs = log(tmp_path, a={0: 1.0, 1: 1.0}, b={0: 1.0, 2: 1.0})
    assert runs.reduce(align="union").remarks == (
        "Only one run at 2 of 3 steps, so std is NaN there.",
    )
    assert runs.reduce("mean", align="union").remarks == ()


def test_tag_that_remains_in_only_one_group(tmp_path):
    log(tmp_path / "x", a=[1.0], b=[2.0])
    log(tmp_path / "y", a=[1.0], b={5: 2.0})
    reduced = rf.open(tmp_path).reduce("mean", by="parent", align="intersection")
    assert reduced.left_out == ("tag loss in 1 group", "2 steps that not all runs have")


def test_empty_result_raises_with_helpful_options_only(tmp_path):
    runs = log(tmp_path, a=[1.0], b=[2.0])
    with pytest.raises(CannotFold) as caught:
        runs.reduce(min_runs=3)
    assert str(caught.value) == (
        "There is nothing to reduce. Left out: tag loss in all groups; 1 step that fewer than 3 "
        "runs have. Use a smaller min_runs (--min-runs) to keep more."
    )
    runs = log(tmp_path, a=[np.nan], b=[np.nan])
    with pytest.raises(CannotFold) as caught:
        runs.reduce(align="interpolate")
    assert str(caught.value) == (
        "There is nothing to reduce. Left out: tag loss in all groups; 2 NaNs in 2 runs (a, b)."
    )
    with pytest.raises(CannotFold, match="No tag was specified"):
        runs.reduce(tags=[])


def test_system_metrics_of_tracked_runs_are_reduced_only_on_request(tmp_path):
    for number, name in enumerate(("a", "b")):
        write(
            tmp_path / name,
            scalars("loss", (0, 1.0), (1, 2.0)),
            scalars("system/cpu", (number, 50.0)),
            values(text("runfold/status", "...")),
        )
    runs = rf.open(tmp_path)
    reduced = runs.reduce("mean")
    assert reduced.tags == ["loss"]
    assert reduced.left_out == ("1 tag of system metrics (system/*), not requested",)
    assert runs.reduce("mean", tags="system/*", align="union").tags == ["system/cpu"]


def test_tag_named_system_in_an_untracked_run_is_reduced(tmp_path):
    write(tmp_path / "a", scalars("loss", (0, 1.0)), scalars("system/energy", (0, 50.0)))
    reduced = rf.open(tmp_path).reduce("mean")
    assert reduced.tags == ["loss", "system/energy"]
    assert reduced.left_out == ()


def test_auto_interpolates_and_reports_only_tags_with_different_steps(tmp_path):
    write(tmp_path / "a", scalars("loss", (0, 0.0), (2, 2.0)), scalars("acc", (0, 1.0)))
    write(tmp_path / "b", scalars("loss", (0, 0.0), (1, 1.0), (2, 2.0)), scalars("acc", (0, 3.0)))
    reduced = rf.open(tmp_path).reduce("mean", align="auto")
    assert reduced["loss"].x.tolist() == [0, 1, 2]
    assert reduced["loss"]["mean"].tolist() == [0.0, 1.0, 2.0]
    assert reduced["acc"]["mean"].tolist() == [2.0]
    assert reduced.align == "interpolate"
    assert reduced.remarks == (
        "The runs have different steps in tag loss: aligned by interpolate (align=, --align).",
    )


def test_auto_keeps_equal_steps_and_uses_bins_for_too_many(tmp_path, monkeypatch):
    runs = log(tmp_path, a=[1.0] * 40, b=[2.0] * 40)
    same = runs.reduce("mean", align="auto")
    assert (same.align, same.remarks) == ("strict", ())
    monkeypatch.setattr(alignment, "_HANDY_CELLS", 50)
    apart = log(tmp_path, c={3 * step: 3.0 for step in range(40)}).reduce("mean", align="auto")
    assert (apart.align, len(apart["loss"])) == ("bins", 10)
    assert apart.remarks[0].endswith(
        "in tag loss: aligned by means over 10 bins (align=, --align)."
    )
    assert log(tmp_path).reduce("mean", align="auto", bins=4).align == "bins"


def test_interval_of_another_center_is_reported(tmp_path):
    runs = log(tmp_path, a=[1.0, 2.0], b=[2.0, 3.0], c=[3.0, 4.0])
    hint = (
        "ci95 is computed for the mean, so it does not form a band around the iqm."
        " Use 'ci95-iqm' for a band."
    )
    reduced = runs.reduce("iqm,ci95")
    assert reduced.remarks == (hint,)
    with pytest.warns(UserWarning, match=hint):
        reduced.plot()
    assert runs.reduce("iqm,ci95-iqm").remarks == ()
