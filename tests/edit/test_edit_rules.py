"""Rules of an edit, in every form in which callers can write them."""

import numpy as np
import pytest

from runfold._edit.edit_rules import HIGHEST, LOWEST, Rules, inclusive
from runfold.errors import CannotEdit


@pytest.mark.parametrize("steps", ["3:8", (3, 8), ["3:8"], [(3, 8)], (("3:8"),)])
def test_steps_are_a_string_a_pair_or_a_list(steps) -> None:
    assert Rules(steps=steps).steps == [(3, 8)]


def test_numpy_numbers_are_accepted() -> None:
    step = np.int64(3)
    rules = Rules(steps=(step, None), every=step, shift_steps=step, shift_time=np.float32(3))
    assert (rules.steps, rules.every, rules.shift_steps) == ([(3, None)], 3, 3)


def test_two_spans_are_not_a_pair() -> None:
    assert Rules(cut_steps=("3:8", "9")).cut_steps == [(3, 8), (9, 10)]
    assert Rules(cut_steps=((3, None), (None, 1))).cut_steps == [(3, None), (None, 1)]
    assert inclusive([(3, None), (None, 1), ":-5"]) == [(3, HIGHEST), (LOWEST, 0), (LOWEST, -6)]


@pytest.mark.parametrize("renames", ["a=b", {"a": "b"}, ["a=b"], [("a", "b")]])
def test_new_names_are_a_string_pairs_or_a_dict(renames) -> None:
    rules = Rules(rename_tags=renames, rename_runs=renames, merge_runs=renames)
    assert rules.rename_tags == rules.rename_runs == rules.merge_runs == [("a", "b")]


def test_kinds_are_one_string_or_a_list() -> None:
    assert Rules(strip="image, histogram,").strip == Rules(strip=["image", "histogram"]).strip


@pytest.mark.parametrize(
    ("rules", "message"),
    [
        ({"steps": [3]}, "3 is not a range of steps. Pass"),
        ({"steps": [(1, 2, 3)]}, "is not a range of steps. Pass"),
        ({"steps": 3}, "3 is not a range of steps. Pass"),
        ({"cut_steps": (1.5, 2.5)}, r"\(1.5, 2.5\) is not a range of steps. Pass"),
        ({"every": 2.5}, "every must be a positive integer, not 2.5"),
        ({"every": "2"}, "every must be a positive integer, not '2'"),
        ({"shift_steps": 1.5}, "shift_steps must be an integer, not 1.5"),
        ({"shift_time": "1"}, "shift_time must be a number of seconds, not '1'"),
        ({"rename_tags": "a"}, "Write OLD=NEW"),
        ({"merge_runs": "a=b", "split": "files"}, "merged and split in one edit"),
    ],
)
def test_invalid_rules_are_rejected(rules: dict, message: str) -> None:
    with pytest.raises(CannotEdit, match=message):
        Rules(**rules)
