"""Rules of an edit as a caller writes them: the words of the command line, or Python's own."""

import numpy as np
import pytest

from runfold._edit.edit_rules import HIGHEST, LOWEST, Rules, inclusive
from runfold.errors import CannotEdit


@pytest.mark.parametrize("steps", ["3:8", (3, 8), ["3:8"], [(3, 8)], (("3:8"),)])
def test_steps_are_a_text_a_pair_or_many(steps) -> None:
    assert Rules(steps=steps).steps == [(3, 8)]


def test_numbers_may_be_numpys() -> None:
    step = np.int64(3)
    rules = Rules(steps=(step, None), every=step, shift_steps=step, shift_time=np.float32(3))
    assert (rules.steps, rules.every, rules.shift_steps) == ([(3, None)], 3, 3)


def test_two_spans_are_no_pair() -> None:
    assert Rules(cut_steps=("3:8", "9")).cut_steps == [(3, 8), (9, 10)]
    assert Rules(cut_steps=((3, None), (None, 1))).cut_steps == [(3, None), (None, 1)]
    assert inclusive([(3, None), (None, 1), ":-5"]) == [(3, HIGHEST), (LOWEST, 0), (LOWEST, -6)]


@pytest.mark.parametrize("renames", ["a=b", {"a": "b"}, ["a=b"], [("a", "b")]])
def test_new_names_are_a_text_pairs_or_a_dict(renames) -> None:
    rules = Rules(rename_tags=renames, rename_runs=renames, merge_runs=renames)
    assert rules.rename_tags == rules.rename_runs == rules.merge_runs == [("a", "b")]


def test_kinds_are_told_in_one_text_or_many() -> None:
    assert Rules(strip="image, histogram,").strip == Rules(strip=["image", "histogram"]).strip


@pytest.mark.parametrize(
    ("rules", "message"),
    [
        ({"steps": [3]}, "3 are no steps: give"),
        ({"steps": [(1, 2, 3)]}, "are no steps: give"),
        ({"steps": 3}, "3 are no steps: give"),
        ({"cut_steps": (1.5, 2.5)}, r"\(1.5, 2.5\) are no steps: give"),
        ({"every": 2.5}, "every is a whole number of steps from 1 on, not 2.5"),
        ({"every": "2"}, "every is a whole number of steps from 1 on, not '2'"),
        ({"shift_steps": 1.5}, "shift_steps is a whole number of steps, not 1.5"),
        ({"shift_time": "1"}, "shift_time is a number of seconds, not '1'"),
        ({"rename_tags": "a"}, "write OLD=NEW"),
        ({"merge_runs": "a=b", "split": "files"}, "merged and split at once"),
    ],
)
def test_what_has_no_meaning_is_refused(rules: dict, message: str) -> None:
    with pytest.raises(CannotEdit, match=message):
        Rules(**rules)
