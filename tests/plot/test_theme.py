"""Colors, line styles and labels of figures."""

import pytest
from matplotlib.colors import to_rgb

from runfold._plot.theme import (
    DASHES,
    MARKERS,
    OKABE_ITO,
    Look,
    choose_looks,
    shorten_numbers,
    show_name,
    show_names,
)


def test_groups_differ_by_color_then_dashes_then_color_map() -> None:
    for count in (2, 8, 9, 24, 25, 100):
        looks = choose_looks([str(number) for number in range(count)], ["mean"]).values()
        assert len(set(looks)) == count
        assert all(to_rgb(look.color) for look in looks)
        assert {look.dashes for look in looks} == set(DASHES[: -(-count // 8) if count < 25 else 1])


def test_statistics_differ_by_dashes_or_by_color_in_one_group() -> None:
    looks = choose_looks(["a", "b"], ["min", "max"])
    assert looks["b", "max"] == Look(OKABE_ITO[1], "--")
    assert choose_looks([""], ["min", "max"]) == {
        ("", "min"): Look(OKABE_ITO[0]),
        ("", "max"): Look(OKABE_ITO[1]),
    }


def test_colors_continue_after_those_in_use_and_then_start_again() -> None:
    looks = [choose_looks([""], ["mean"], first=first)["", "mean"] for first in range(33)]
    assert len(set(looks)) == 32
    assert looks[1] == Look(OKABE_ITO[1])
    assert looks[32] == looks[0]


def test_markers_replace_dashes_where_dashed_means_fewer_runs() -> None:
    for groups, statistics in ((8, 1), (10, 1), (24, 1), (25, 1), (2, 4), (1, 12)):
        names = [str(number) for number in range(groups)]
        kinds = [f"statistic-{number}" for number in range(statistics)]
        looks = choose_looks(names, kinds, has_fewer=True)
        assert len(set(looks.values())) == groups * statistics
        assert {look.dashes for look in looks.values()} == {"-"}
    looks = choose_looks(["a", "b"], ["min", "max"], has_fewer=True)
    assert looks["b", "max"] == Look(OKABE_ITO[1], marker=MARKERS[1])


@pytest.mark.parametrize(
    ("values", "labels"),
    [
        ([0, 5000], "0 5000"),
        ([0, 5000, 10000], "0 5k 10k"),
        ([0, 2500, 5000, 10000], "0 2.5k 5.0k 10.0k"),
        ([0, 500_000, 1_000_000], "0 0.5M 1.0M"),
        ([-0.5, 0, 0.5, 1], "−0.5 0.0 0.5 1.0"),
        ([1_000_000, 1_000_001], "1.000000M 1.000001M"),
        ([0, 1e-5], "0 1e−05"),
        ([0, 1e20], "0 1e+20"),
        ([0.1, 0.1 + 0.2], "0.1 0.3"),
        ([], ""),
    ],
)
def test_numbers_are_short_and_distinct(values: list[float], labels: str) -> None:
    assert " ".join(shorten_numbers(values)) == labels


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("val/loss", "val/loss"),
        ("sweep-3/lr-0.1/seed-7", "swee…/seed-7"),
        ("a\nb", "a\\nb"),
    ],
)
def test_long_names_lose_their_middle(name: str, shown: str) -> None:
    assert show_name(name, 12) == shown


def test_long_names_with_equal_ends_stay_distinct() -> None:
    names = ["run-7-lr=0.1-x-1000", "run-7-lr=0.2-x-1000"]
    labels = show_names(names, 12)
    assert labels.width <= 12
    assert ["0.1" in labels.shown[names[0]], "0.2" in labels.shown[names[1]]] == [True, True]
    alike = [f"{20 * 'a'}{number}{end}{20 * 'z'}" for number in range(9) for end in "xy"]
    assert len(set(show_names(alike, 12).shown.values())) == len(alike)


def test_shared_folder_of_long_names_is_dropped() -> None:
    labels = show_names(["a-long-sweep/lr-0.1", "a-long-sweep/lr-0.2"], 12, drop_folder=True)
    assert (labels.folder, list(labels.shown.values())) == ("a-long-sweep/", ["lr-0.1", "lr-0.2"])


def test_names_with_nothing_in_common_lose_their_middle() -> None:
    names = ["sweep-3/lr-0.1/seed-7", "b"]
    assert list(show_names(names, 12).shown.values()) == ["swee…/seed-7", "b"]
    assert list(show_names(names[:1], 12).shown.values()) == ["swee…/seed-7"]
