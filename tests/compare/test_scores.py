"""One score per run."""

import math
from pathlib import Path

import numpy as np
import pytest
from helpers.logs import scalars, values, write
from scipy.integrate import trapezoid

from runfold._compare.scores import Scored, check_at, score_tag, tabulate
from runfold._events import value_encoding as messages
from runfold._logdir.loader import Logdir
from runfold._reduce.groups import make_groups
from runfold._reduce.scalar_tags import choose_tags
from runfold._tables.by_run.direction import Better, Direction, find_direction
from runfold.errors import CannotFold, UnknownStatistic, UnknownTag

POINTS = [(0, 4.0), (10, 1.0), (30, 2.0), (40, 3.0)]


def score(
    logdir: Path, at: str | int, better: Better | None = None, duplicates: str = "last"
) -> Scored:
    groups = make_groups(Logdir(logdir).logs.values()).groups
    return score_tag(groups, Direction("x", better), at, duplicates)


@pytest.mark.parametrize(
    ("at", "better", "expected"),
    [
        ("last", None, 3.0),
        ("min", None, 1.0),
        ("max", None, 4.0),
        ("best", "lower", 1.0),
        ("best", "higher", 4.0),
        ("auc", None, trapezoid([4.0, 1.0, 2.0, 3.0], [0, 10, 30, 40])),
        (0, None, 4.0),
        (29, None, 1.0),
        (30, None, 2.0),
        (40, None, 3.0),
    ],
)
def test_each_kind_of_score(
    at: str | int, better: Better | None, expected: float, tmp_path: Path
) -> None:
    write(tmp_path / "a", scalars("x", *POINTS))
    (result,) = score(tmp_path, at, better).scores
    assert (result.tag, result.run, result.score) == ("x", "a", expected)


def test_last_is_the_value_at_the_largest_step(tmp_path: Path) -> None:
    write(tmp_path / "a", scalars("x", (5, 1.0), (9, 2.0), (7, 3.0)))
    assert score(tmp_path, "last").scores[0].score == 2.0


@pytest.mark.parametrize(("duplicates", "expected"), [("first", 1.0), ("last", 4.0), ("mean", 2.5)])
def test_duplicate_step_follows_the_policy(
    duplicates: str, expected: float, tmp_path: Path
) -> None:
    write(tmp_path / "a", scalars("x", (0, 9.0), (1, 1.0), (1, 4.0)))
    assert score(tmp_path, "last", duplicates=duplicates).scores[0].score == expected
    with pytest.raises(CannotFold, match="more than one value at step 1"):
        score(tmp_path, "last", duplicates="error")


def test_run_that_ends_early_starts_late_or_lacks_the_tag_is_left_out(tmp_path: Path) -> None:
    write(tmp_path / "early", scalars("x", (0, 1.0), (9, 2.0)))
    write(tmp_path / "late", scalars("x", (11, 1.0)))
    write(tmp_path / "other", scalars("y", (10, 1.0)))
    write(tmp_path / "whole", scalars("x", (0, 1.0), (10, 2.0)))
    scored = score(tmp_path, 10)
    assert [(result.run, result.score) for result in scored.scores] == [("whole", 2.0)]
    assert scored.left_out == [
        "1 run whose 'x' ends before step 10: early",
        "1 run whose 'x' begins after step 10: late",
        "1 run without the tag 'x': other",
    ]


def test_diverged_run_is_reported_and_its_score_kept(tmp_path: Path) -> None:
    write(tmp_path / "bad", scalars("x", (0, 1.0), (1, math.nan)))
    write(tmp_path / "good", scalars("x", (0, 1.0), (1, 2.0)))
    write(tmp_path / "worse", scalars("x", (0, 1.0), (1, math.inf)))
    scored = score(tmp_path, "last")
    np.testing.assert_equal([result.score for result in scored.scores], [math.nan, 2.0, math.inf])
    groups = make_groups(Logdir(tmp_path).logs.values()).groups
    np.testing.assert_equal(tabulate(groups, [scored])[""], [[math.nan], [2.0], [math.nan]])
    assert scored.warnings == [
        "2 runs have no finite last value of 'x' and are left out, which makes the"
        " group look better: bad (nan), worse (inf)."
    ]


@pytest.mark.parametrize(("at", "expected"), [("min", 1.0), ("max", 2.0), ("auc", math.nan)])
def test_extremes_ignore_nan_and_areas_do_not(at: str, expected: float, tmp_path: Path) -> None:
    write(tmp_path / "a", scalars("x", (0, 2.0), (1, math.nan), (2, 1.0)))
    scored = score(tmp_path, at)
    np.testing.assert_equal(scored.scores[0].score, expected)
    assert any("NaN is ignored" in warning for warning in scored.warnings) == (at != "auc")


@pytest.mark.parametrize(
    ("at", "last", "name"),
    [
        ("last", 100, "last value"),
        ("max", 100, "largest value"),
        ("last", 950, None),
        ("auc", 950, "area under the curve"),
        ("auc", 995, None),
        (100, 100, None),
    ],
)
def test_run_that_ended_early_causes_a_warning(
    at: str | int, last: int, name: str | None, tmp_path: Path
) -> None:
    write(tmp_path / "a", scalars("x", (0, 1.0), (last, 1.0)))
    write(tmp_path / "b", scalars("x", (0, 1.0), (1000, 1.0)))
    assert score(tmp_path, at).warnings == (
        [
            f"'x' spans fewer steps in 1 run than in others (for example steps 0..{last} and"
            f" 0..1000), so their {name} cannot be compared reliably: a."
        ]
        if name
        else []
    )


def test_single_point_has_no_area(tmp_path: Path) -> None:
    write(tmp_path / "a", scalars("x", (0, 1.0)))
    assert score(tmp_path, "auc").left_out == [
        "1 run with only one point of 'x', so there is no area: a"
    ]


@pytest.mark.parametrize(
    ("tag", "better"),
    [
        ("val/loss", "lower"),
        ("Loss", "lower"),
        ("eval-RMSE", "lower"),
        ("time_per_step", "lower"),
        ("rollout/ep_rew_mean", "higher"),
        ("time/fps", "higher"),
        ("metrics/mAP50-95(B)", "higher"),
        ("valLoss", "lower"),
        ("trainACC", None),
        ("train/learning_rate", None),
        ("eval/mean_reward", "higher"),
        ("top1", "higher"),
        ("reward_loss", "lower"),
        ("loss/accuracy", "higher"),
        ("glossary", None),
        ("accident", None),
        ("", None),
    ],
)
def test_direction_is_guessed_from_whole_words(tag: str, better: Better | None) -> None:
    assert find_direction(tag) == Direction(tag, better, is_guessed=better is not None)
    assert find_direction(tag, "higher") == Direction(tag, "higher", is_guessed=False)


def test_best_needs_a_direction(tmp_path: Path) -> None:
    write(tmp_path / "a", scalars("x", (0, 1.0)))
    with pytest.raises(CannotFold, match=r"better='higher' or 'lower' \(--better\)"):
        score(tmp_path, "best")


def test_unknown_score_and_direction_list_similar_names() -> None:
    with pytest.raises(UnknownStatistic, match=r"^No score 'lst'. Did you mean 'last'\?$"):
        check_at("lst")
    with pytest.raises(UnknownStatistic, match=r"or a step, got 1.5"):
        check_at(1.5)
    with pytest.raises(CannotFold, match=r"not 'lowr'. Did you mean 'lower'"):
        find_direction("x", "lowr")
    assert check_at(np.int64(7)) == 7


def test_histogram_tag_is_explained(tmp_path: Path) -> None:
    message = messages.histogram("weights", -1, 1, 4, 0, 2, [0.0, 1.0], [1, 3])
    write(tmp_path / "a", scalars("weight", (0, 1.0)), values(message))
    logs = list(Logdir(tmp_path).logs.values())
    with pytest.raises(
        UnknownTag, match=r"^Tag 'weights' in run 'a' contains histogram data, not scalars"
    ):
        choose_tags(logs, "weights")
    with pytest.raises(
        UnknownTag, match=r"^No tag 'wieght' of kind scalar. Did you mean 'weight'\?$"
    ):
        choose_tags(logs, ["wieght"])
    assert choose_tags(logs, "w*") == ["weight"]
