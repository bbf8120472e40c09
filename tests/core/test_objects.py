"""Many objects of one class created in one call."""

import gc
from dataclasses import dataclass

import pytest

from runfold._core.objects import make_objects


@dataclass(frozen=True)
class Point:
    time: float
    step: int
    value: object


def test_objects_equal_those_created_by_their_class() -> None:
    columns = {"time": [0.5, 1.5], "step": [1, 2**62], "value": [float("inf"), [1]]}
    made = make_objects(Point, columns)
    assert made == [Point(0.5, 1, float("inf")), Point(1.5, 2**62, [1])]
    assert [vars(point) for point in made] == [
        {"time": 0.5, "step": 1, "value": float("inf")},
        {"time": 1.5, "step": 2**62, "value": [1]},
    ]
    assert hash(made[0]) == hash(Point(0.5, 1, float("inf")))


def test_without_rows_there_are_no_objects() -> None:
    assert make_objects(Point, {"time": [], "step": [], "value": []}) == []


def test_the_collector_tracks_objects_unless_they_are_atomic() -> None:
    columns = {"time": [0.5], "step": [1], "value": [2.0]}
    (known,) = make_objects(Point, columns)
    (unknown,) = make_objects(Point, columns, is_atomic=True)
    assert gc.is_tracked(known)
    assert not gc.is_tracked(unknown)
    assert known == unknown


@pytest.mark.parametrize("columns", [{}, {"time": [1.0, 2.0], "step": [1]}])
def test_columns_of_unequal_length_are_rejected(columns: dict[str, list[float]]) -> None:
    with pytest.raises(ValueError, match=r"at least one column|shorter"):
        make_objects(Point, columns)


def test_columns_that_are_not_lists_are_rejected() -> None:
    with pytest.raises(TypeError):
        make_objects(Point, {"time": (1.0,)})
    with pytest.raises(TypeError):
        make_objects(None, {"time": [1.0]})
