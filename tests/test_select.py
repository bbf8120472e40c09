"""Filters by name, glob and list."""

import pytest

from runfold._select import select
from runfold.errors import UnknownRun, UnknownTag

TAGS = ["train/loss", "train/acc", "val/loss", "lr", "loss[0]", "loss0"]


def test_none_selects_all_names():
    assert select(TAGS, None) == TAGS


def test_an_empty_list_selects_nothing():
    assert select(TAGS, []) == []


def test_an_exact_name():
    assert select(TAGS, "val/loss") == ["val/loss"]


def test_a_list_selects_each_name_once_in_their_order():
    assert select(TAGS, ["lr", "train/loss", "train/*", "lr"]) == ["train/loss", "train/acc", "lr"]


def test_a_star_matches_slashes_and_line_breaks():
    assert select(["a/b/c", "a\nc", "ab"], "a*c") == ["a/b/c", "a\nc"]


def test_question_marks_and_classes():
    assert select(TAGS, "l?") == ["lr"]
    assert select(TAGS, "[tv]*/loss") == ["train/loss", "val/loss"]
    assert select(TAGS, "[!tv]*") == ["lr", "loss[0]", "loss0"]


def test_a_name_takes_precedence_over_a_glob():
    assert select(TAGS, "loss[0]") == ["loss[0]"]
    assert select(["loss0"], "loss[0]") == ["loss0"]


def test_case_matters():
    with pytest.raises(UnknownTag, match=r"No tag 'LR'\. Did you mean 'lr'\?"):
        select(TAGS, "LR")


def test_the_empty_tag_can_be_selected():
    assert select(["", "lr"], "") == [""]


def test_an_unknown_name_is_reported_with_location_and_close_matches():
    with pytest.raises(UnknownTag) as caught:
        select(["loss"], ["loss", "los"], where="in run 'seed-1'")
    assert str(caught.value) == "No tag 'los' in run 'seed-1'. Did you mean 'loss'?"


def test_an_unknown_run_is_a_different_error():
    with pytest.raises(UnknownRun) as caught:
        select(["seed-1"], "zebra", noun="run")
    assert str(caught.value) == "No run 'zebra'."


def test_a_glob_that_matches_nothing_is_an_error():
    with pytest.raises(UnknownTag) as caught:
        select(TAGS, "test/*")
    assert str(caught.value).startswith("No tag matches 'test/*'.")


def test_without_any_names_the_error_says_so():
    with pytest.raises(UnknownTag) as caught:
        select([], "loss")
    assert str(caught.value) == "No tag 'loss'. There are no tags at all."


def test_a_filter_that_is_not_a_name_is_refused():
    with pytest.raises(TypeError, match="expected names or globs as a tag filter, got 3"):
        select(TAGS, [3])
    with pytest.raises(TypeError, match="expected names or globs as a run filter, got 3"):
        select(TAGS, 3, noun="run")
    with pytest.raises(TypeError, match="expected names or globs as a tag filter, got b'lr'"):
        select(TAGS, b"lr")


def test_a_malicious_glob_is_fast():
    assert select(["a" * 5000], "*a" * 30 + "*") == ["a" * 5000]
    with pytest.raises(UnknownTag):
        select(["a" * 5000], "*a" * 30 + "b")
