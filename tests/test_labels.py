"""Short, distinct labels for many names."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runfold._humanize import cell_width
from runfold._labels import label_names


def labels(names, width, **options):
    return list(label_names(names, width, **options).shown.values())


def test_names_that_fit_are_unchanged():
    made = label_names(["sweep/a", "sweep/b"], 7)
    assert made.folder == ""
    assert made.shown == {"sweep/a": "sweep/a", "sweep/b": "sweep/b"}


def test_without_a_width_names_are_unchanged():
    assert labels(["x" * 300 + "a", "x" * 300 + "b"], None) == ["x" * 300 + "a", "x" * 300 + "b"]


def test_the_common_folder_is_dropped_first_and_reported():
    made = label_names(["runs/exp/lr-0.1/seed-0", "runs/exp/lr-0.01/seed-0"], 16)
    assert made.folder == "runs/exp/"
    assert list(made.shown.values()) == ["lr-0.1/seed-0", "lr-0.01/seed-0"]


def test_a_folder_that_is_kept_is_shortened_like_other_common_parts():
    made = label_names(["experiments/a", "experiments/b"], 8, drop_folder=False)
    assert made.folder == ""
    assert list(made.shown.values()) == ["…/a", "…/b"]


def test_common_words_are_dropped_starting_with_the_longest_part():
    names = [
        f"large_transformer_lr_{lr}/imagenet_augmented/seed-{seed}"
        for lr in ("0.1", "0.01", "1e-3")
        for seed in (0, 10)
    ]
    assert labels(names, 30) == [
        "…_lr_0.1/…_augmented/seed-0",
        "…_lr_0.1/…_augmented/seed-10",
        "…_lr_0.01/…_augmented/seed-0",
        "…_lr_0.01/…_augmented/seed-10",
        "…_lr_1e-3/…_augmented/seed-0",
        "…_lr_1e-3/…_augmented/seed-10",
    ]


def test_differing_words_are_kept_however_long():
    names = ["a" * 40, "b" * 40]
    assert labels(names, 10) == names


def test_names_of_unequal_depth_are_distinct():
    names = ["base", "base/lr-0.1", "base/lr-0.1/again"]
    assert labels(names, 4) == ["base", "…/lr-0.1", "…/lr-0.1/again"]


def test_names_that_would_share_a_label_are_unchanged():
    names = ["xx-b-yy-zz-1", "xx-yy-b-zz-1", "xx-yy-zz-1"]
    assert len(set(labels(names, 1))) == 3


def test_a_name_that_fits_is_unchanged_if_others_are_too_long_anyway():
    names = ["demo/seed-0", "demo/seed-1", "demo/" + "x" * 40 + "/seed-0"]
    assert labels(names, 20, drop_folder=False)[:2] == names[:2]


def test_a_single_name_loses_its_folder_and_then_its_beginning():
    assert label_names(["a/b/c-long-name"], 11).folder == "a/b/"
    assert labels(["a/b/c-long-name"], 8) == ["…-name"]


def test_escapes_that_look_alike_are_distinct():
    assert labels(["a\nb", "a\\nb"], None) == ["a\\nb", "a\\\\nb"]
    assert labels(["a\x85", "a\udc85"], None) == ["a\\x85", "a\\udc85"]


def test_each_name_is_labeled_once():
    assert labels(["b", "a", "b"], 5) == ["b", "a"]


NAMES = st.lists(
    st.lists(
        st.sampled_from(["run", "lr", "0.1", "1e-3", "seed", "0", "10", "/", "-", "_", "…", "漢"]),
        max_size=12,
    ).map("".join)
    | st.text(max_size=12),
    unique=True,
    max_size=12,
)


@given(NAMES, st.none() | st.integers(0, 30), st.booleans())
def test_distinct_names_have_distinct_labels_in_order(names, width, drop_folder):
    made = label_names(names, width, drop_folder)
    assert list(made.shown) == names
    assert len(set(made.shown.values())) == len(names)
    assert all(label.isprintable() for label in made.shown.values())
    assert made == label_names(names, width, drop_folder)


@given(NAMES, st.integers(0, 30))
def test_labels_do_not_depend_on_the_order_of_the_names(names, width):
    made = label_names(names, width)
    assert label_names(names[::-1], width).shown == made.shown


@given(NAMES, st.integers(0, 30))
def test_labels_are_never_wider_than_the_names(names, width):
    whole, made = label_names(names, None).shown, label_names(names, width).shown
    assert all(cell_width(made[name]) <= cell_width(whole[name]) for name in names)


@given(
    st.lists(st.integers(0, 999), unique=True, min_size=1),
    st.text("ab-_", max_size=40),
    st.text("cd-_", max_size=40),
)
def test_names_that_differ_only_in_a_number_fit(numbers, before, after):
    made = label_names([f"{before}x-{number}-y{after}" for number in numbers], 12)
    assert made.width <= 12


@pytest.mark.parametrize("shape", ["-a" * 20_000, "a" * 40_000, "1" * 40_000, "1e" * 20_000])
def test_malicious_names_are_labeled_in_bounded_time(shape):
    made = label_names([shape + end for end in "xyz"], 20)
    assert len(set(made.shown.values())) == 3
