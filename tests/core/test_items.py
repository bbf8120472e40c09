"""Items grouped by tag and form, compared with plain Python."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from runfold._core.decoder import ITEM, NO_ITEMS
from runfold._core.items import group_items

TAGS = 4


def make_items(*keys: tuple[int, int]) -> np.ndarray:
    items = np.zeros(len(keys), ITEM)
    for item, key in zip(items, keys, strict=True):
        item["tag"], item["form"] = key
    return items


@given(st.lists(st.tuples(st.integers(-1, TAGS - 1), st.integers(0, 12))))
def test_groups_match_a_dictionary_by_tag_and_form(keys):
    want: dict[tuple[int, int], list[int]] = {}
    for number, key in enumerate(keys):
        want.setdefault(key, []).append(number)
    assert [group.tolist() for group in group_items(make_items(*keys), TAGS)] == [*want.values()]


def test_without_items_there_are_no_groups():
    assert group_items(NO_ITEMS, 0) == []


def test_groups_are_indices_of_items():
    (group,) = group_items(make_items((0, 1)), 1)
    assert group.dtype == np.intp


@pytest.mark.parametrize("tag", [-(2**31), -2, TAGS, 2**31 - 1])
def test_item_of_an_unknown_tag_is_rejected(tag):
    with pytest.raises(
        ValueError, match=f"an item has tag number {tag}, but there are {TAGS} tags"
    ):
        group_items(make_items((0, 1), (tag, 1), (1, 1)), TAGS)


def test_without_tags_only_items_without_a_tag_are_accepted():
    assert [group.tolist() for group in group_items(make_items((-1, 6), (-1, 6)), 0)] == [[0, 1]]
    with pytest.raises(ValueError, match="an item has tag number 0"):
        group_items(make_items((0, 1)), 0)


def test_arrays_of_other_dtypes_are_rejected():
    with pytest.raises(ValueError, match="Buffer dtype mismatch"):
        group_items(np.zeros(3), 1)
    with pytest.raises(ValueError, match="not C-contiguous"):
        group_items(make_items((0, 1), (0, 1), (0, 1))[::2], 1)
