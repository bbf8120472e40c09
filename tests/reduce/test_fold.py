"""The whole fold: from logs to curves, beside NumPy and pandas."""

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
    """Runs of one tag, `loss`: step to value, or a list of values from step 0 on."""
    for name, points in runs.items():
        if isinstance(points, list):
            points = dict(enumerate(points))
        write(folder / name, scalars("loss", *points.items()))
    return rf.open(folder)


def test_statistics_are_those_of_pandas(tmp_path):
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
def test_different_steps_are_refused_with_what_is_missing_where(tmp_path):
    runs = log(tmp_path, a={0: 1.0, 1: 1.0, 2: 1.0}, b={0: 1.0, 2: 1.0}, c={0: 1.0, 1: 1.0, 3: 1.0})
    with pytest.raises(CannotFold) as caught:
        runs.reduce()
    message = str(caught.value)
    assert "The runs do not have the same steps, so nothing was folded:" in message
    assert (
        "tag 'loss': steps missing in a (1 of 4, first 3), b (2 of 4, first 1),"
        " c (1 of 4, first 2)" in message
    )
    assert "align='interpolate'" in message
    assert "--align" in message


@pytest.mark.fault(63)
def test_equally_many_but_different_steps_are_refused_too(tmp_path):
    runs = log(tmp_path, a={0: 1.0, 10: 1.0}, b={1: 1.0, 11: 1.0})
    with pytest.raises(CannotFold, match="do not have the same steps"):
        runs.reduce()
    with pytest.raises(CannotFold, match="Left out: tag loss altogether; 4 steps"):
        runs.reduce(align="intersection")


@pytest.mark.fault(63)
def test_different_tags_are_refused_unless_lax(tmp_path):
    write(tmp_path / "a", scalars("loss", (0, 1.0)), scalars("extra", (0, 5.0)))
    write(
        tmp_path / "b",
        scalars("loss", (0, 3.0)),
        values(histogram("extra", 0, 1, 1, 1, 1, [1], [1])),
    )
    runs = rf.open(tmp_path)
    with pytest.raises(CannotFold) as caught:
        runs.reduce()
    assert "tag 'extra' is missing in b (where it holds histogram data)" in str(caught.value)
    assert "--lax-tags" in str(caught.value)
    reduced = runs.reduce("mean", lax_tags=True)
    assert reduced["extra"].runs == ("a",)
    assert reduced["extra"]["mean"].tolist() == [5.0]
    assert reduced["loss"]["mean"].tolist() == [2.0]
    assert reduced.remarks == ("Folded over fewer runs than the group has: tag extra.",)


def test_a_tag_that_a_whole_group_lacks_is_no_gap(tmp_path):
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
def test_a_nan_is_skipped_and_said_so(tmp_path):
    runs = log(tmp_path, a=[1.0, np.nan, 3.0], b=[3.0, 4.0, 5.0])
    reduced = runs.reduce(["mean", "count"])
    assert reduced["loss"]["mean"].tolist() == [2.0, 4.0, 4.0]
    assert reduced["loss"]["count"].tolist() == [2, 1, 2]
    assert reduced.nan == "skip"
    assert reduced.left_out == ("1 NaN of run a",)
    assert "NaN skipped" in repr(reduced)


@pytest.mark.fault(30)
def test_a_nan_is_propagated_when_asked_and_said_so(tmp_path):
    reduced = log(tmp_path, a=[1.0, np.nan, 3.0], b=[3.0, 4.0, 5.0]).reduce("mean", nan="propagate")
    np.testing.assert_array_equal(reduced["loss"]["mean"], [2.0, np.nan, 4.0])
    assert reduced.remarks == ("1 NaN of run a made the statistics NaN there.",)


@pytest.mark.fault(30)
def test_a_skipped_nan_is_interpolated_past_and_a_propagated_one_spreads(tmp_path):
    runs = log(tmp_path, a={0: 0.0, 5: np.nan, 10: 10.0}, b={0: 0.0, 4: 4.0, 10: 10.0})
    skipped = runs.reduce("mean", align="interpolate")["loss"]
    assert (skipped.x.tolist(), skipped["mean"].tolist()) == ([0, 4, 10], [0.0, 4.0, 10.0])
    spread = runs.reduce("mean", align="interpolate", nan="propagate")["loss"]
    np.testing.assert_array_equal(spread["mean"], [0.0, np.nan, np.nan, 10.0])


def test_one_run_alone_has_a_mean_but_no_spread(tmp_path):
    reduced = log(tmp_path, a=[1.0, 2.0]).reduce(["mean", "std", "ci95"])
    assert reduced["loss"]["mean"].tolist() == [1.0, 2.0]
    assert np.isnan(reduced["loss"]["std"]).all()
    (remark,) = reduced.remarks
    assert remark.startswith("Only one run in all: std, ")


def test_groups_fold_apart_and_carry_their_key(tmp_path):
    for folder, value in {"lr-1": 1.0, "lr-2": 5.0}.items():
        for seed in range(3):
            write(tmp_path / folder / f"s{seed}", scalars("loss", (0, value + seed)))
    reduced = rf.open(tmp_path).reduce("mean", by=r"lr-(?P<lr>\d)")
    assert list(reduced.groups) == ["lr=1", "lr=2"]
    assert reduced.groups["lr=2"].key == {"lr": "2"}
    assert reduced["lr=2", "loss"]["mean"].tolist() == [6.0]
    with pytest.raises(
        CannotFold, match=r"There are 2 groups; name one: reduced\['lr=1', 'loss'\]"
    ):
        reduced["loss"]
    with pytest.raises(UnknownTag, match=r"behind the group: reduced\['lr=2', 'loss'\]"):
        reduced["lr=2"]
    assert repr(reduced["lr=2", "loss"]) == "Curve('loss', 3 runs, 1 point: mean)"
    with pytest.raises(CannotFold, match=r"No group 'lr=3'. Did you mean 'lr=1' or 'lr=2'"):
        reduced["lr=3", "loss"]
    with pytest.raises(UnknownTag, match=r"No tag 'los' was folded. Did you mean 'loss'"):
        reduced["lr=1", "los"]
    with pytest.raises(UnknownStatistic, match="No statistic 'std' was asked for"):
        reduced["lr=1", "loss"]["std"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"ops": "menn"}, "Did you mean 'mean'"),
        ({"align": "interpolat"}, "Did you mean 'interpolate'"),
        ({"align": "bins"}, "align='bins' needs to know how many"),
        ({"bins": 0}, "bins is a positive whole number, not 0"),
        ({"bins": 5, "align": "union"}, "two ways; choose"),
        ({"min_runs": 1.5}, "min_runs is a positive whole number, not 1.5"),
        ({"nan": "drop"}, "nan is one of 'skip', 'propagate', not 'drop'"),
        ({"duplicates": "frst"}, "Did you mean 'first'"),
        ({"x": "stepp"}, "No tag 'stepp' to be the x-axis. Did you mean 'step'"),
        ({"tags": "los"}, "No tag 'los' of kind scalar. Did you mean 'loss'"),
        ({"tags": "note"}, "Tag 'note' in run 'a' contains text data, not scalars."),
    ],
)
def test_a_mistake_says_what_there_is_instead(tmp_path, options, message):
    write(tmp_path / "a", scalars("loss", (0, 1.0)), values(text("note", "hello")))
    with pytest.raises(rf.errors.RunfoldError) as caught:
        rf.open(tmp_path).reduce(**options)
    assert message in str(caught.value)


def test_runs_without_scalars_are_an_error(tmp_path):
    write(tmp_path / "a", values(text("note", "hello")))
    with pytest.raises(CannotFold, match="There are no scalars in 1 run"):
        rf.open(tmp_path).reduce()


def test_another_tag_as_the_axis_is_not_folded_itself(tmp_path):
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


@pytest.mark.parametrize(("wanted", "is_shown"), [(True, True), (False, False), (None, False)])
def test_a_bar_is_shown_when_asked_for_and_not_to_a_pipe(tmp_path, wanted, is_shown, capsys):
    write(tmp_path / "a", scalars("loss", (0, 1.0)), scalars("acc", (0, 1.0)))
    rf.open(tmp_path, progress=wanted).reduce("mean")
    assert ("Folding" in (told := capsys.readouterr().err)) == is_shown
    assert ("/2.00 " in told) == is_shown


@pytest.mark.parametrize("align", ["union", "interpolate"])
def test_runs_with_steps_of_their_own_need_little_more_memory_than_their_values(tmp_path, align):
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


def test_the_axis_is_called_by_its_name(tmp_path):
    for name, start in {"a": 0.0, "b": 0.5}.items():
        seen = scalars("samples", (0, start), (1, start + 1.0))
        write(tmp_path / name, scalars("loss", (0, 1.0), (1, 2.0)), seen)
    runs = rf.open(tmp_path)
    with pytest.raises(CannotFold) as caught:
        runs.reduce(x="samples")
    assert str(caught.value).startswith(
        "The runs do not have the same values of 'samples', so nothing was folded:\n"
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


def test_a_run_without_the_tag_of_the_axis_is_refused_or_left_out(tmp_path):
    for name in "ab":
        seen = scalars("samples", (0, 10.0), (1, np.inf))
        write(tmp_path / name, scalars("loss", (0, 1.0), (1, 2.0)), seen)
    write(tmp_path / "c", scalars("loss", (0, 1.0), (1, 2.0)))
    runs = rf.open(tmp_path)
    with pytest.raises(CannotFold) as caught:
        runs.reduce(x="samples", align="union")
    assert str(caught.value) == (
        "The x-axis is a tag that some runs lack, so nothing was folded: 1 run without tag "
        "'samples': c. Fold the runs that have it with lax_tags=True (--lax-tags)."
    )
    reduced = runs.reduce(x="samples", lax_tags=True)
    assert reduced.runs == ["a", "b"]
    assert reduced.left_out == (
        "1 run without tag 'samples': c",
        "2 points without a finite value of 'samples'",
    )
    assert reduced["loss"].x.tolist() == [10.0]


@pytest.mark.parametrize("duplicates", ["first", "last"])
def test_duplicates_and_hidden_branches_are_said_to_be_left_out(tmp_path, duplicates):
    points = (0, 1.0), (1, 2.0), (2, 3.0), (1, 5.0), (2, 6.0)
    write(tmp_path / "a", scalars("loss", *points))
    reduced = rf.open(tmp_path).reduce("mean", duplicates=duplicates)
    assert reduced.left_out == ("2 duplicate points",)
    assert rf.open(tmp_path).reduce("mean", duplicates="mean").left_out == ()
    reduced = rf.open(tmp_path, restarts="step").reduce("mean")
    assert reduced.left_out == ("2 points hidden by a restart",)


def test_steps_of_a_single_run_have_no_spread_and_are_counted(tmp_path):
    runs = log(tmp_path, a={0: 1.0, 1: 1.0}, b={0: 1.0, 2: 1.0})
    assert runs.reduce(align="union").remarks == (
        "Only one run at 2 of 3 steps: std is NaN there.",
    )
    assert runs.reduce("mean", align="union").remarks == ()


def test_a_tag_that_is_left_in_one_group_only(tmp_path):
    log(tmp_path / "x", a=[1.0], b=[2.0])
    log(tmp_path / "y", a=[1.0], b={5: 2.0})
    reduced = rf.open(tmp_path).reduce("mean", by="parent", align="intersection")
    assert reduced.left_out == ("tag loss in 1 group", "2 steps that not all runs have")


def test_nothing_left_names_only_what_may_help(tmp_path):
    runs = log(tmp_path, a=[1.0], b=[2.0])
    with pytest.raises(CannotFold) as caught:
        runs.reduce(min_runs=3)
    assert str(caught.value) == (
        "Nothing is left to fold. Left out: tag loss altogether; 1 step that fewer than 3 runs "
        "have. A smaller min_runs (--min-runs) keeps more."
    )
    runs = log(tmp_path, a=[np.nan], b=[np.nan])
    with pytest.raises(CannotFold) as caught:
        runs.reduce(align="interpolate")
    assert str(caught.value) == (
        "Nothing is left to fold. Left out: tag loss altogether; 2 NaNs of 2 runs (a, b)."
    )
    with pytest.raises(CannotFold, match="No tag was asked for"):
        runs.reduce(tags=[])


def test_system_metrics_of_tracked_runs_are_folded_only_when_asked_for(tmp_path):
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
    assert reduced.left_out == ("1 tag of the machine's load (system/*), not asked for",)
    assert runs.reduce("mean", tags="system/*", align="union").tags == ["system/cpu"]


def test_a_tag_called_system_of_a_run_that_was_not_tracked_is_folded(tmp_path):
    write(tmp_path / "a", scalars("loss", (0, 1.0)), scalars("system/energy", (0, 50.0)))
    reduced = rf.open(tmp_path).reduce("mean")
    assert reduced.tags == ["loss", "system/energy"]
    assert reduced.left_out == ()


def test_auto_interpolates_only_the_tags_whose_steps_differ_and_says_so(tmp_path):
    write(tmp_path / "a", scalars("loss", (0, 0.0), (2, 2.0)), scalars("acc", (0, 1.0)))
    write(tmp_path / "b", scalars("loss", (0, 0.0), (1, 1.0), (2, 2.0)), scalars("acc", (0, 3.0)))
    reduced = rf.open(tmp_path).reduce("mean", align="auto")
    assert reduced["loss"].x.tolist() == [0, 1, 2]
    assert reduced["loss"]["mean"].tolist() == [0.0, 1.0, 2.0]
    assert reduced["acc"]["mean"].tolist() == [2.0]
    assert reduced.align == "interpolate"
    assert reduced.remarks == (
        "The runs do not have the same steps in tag loss: aligned by interpolate"
        " (align=, --align).",
    )


def test_auto_leaves_equal_steps_alone_and_takes_bins_where_they_are_too_many(
    tmp_path, monkeypatch
):
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


def test_interval_of_another_centre_is_remarked(tmp_path):
    runs = log(tmp_path, a=[1.0, 2.0], b=[2.0, 3.0], c=[3.0, 4.0])
    hint = "ci95 belongs to the mean, so it makes no band around the iqm. Fold 'ci95-iqm' for one."
    reduced = runs.reduce("iqm,ci95")
    assert reduced.remarks == (hint,)
    with pytest.warns(UserWarning, match=hint):
        reduced.plot()
    assert runs.reduce("iqm,ci95-iqm").remarks == ()
