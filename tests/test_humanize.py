"""Text for people: escapes, order, close matches, quantities."""

import math

import pytest

from runfold._humanize import (
    did_you_mean,
    escape,
    free_name,
    human_bytes,
    human_count,
    human_duration,
    human_list,
    natural_key,
    near,
    not_one_of,
    wrap,
)


@pytest.mark.parametrize(
    ("raw", "shown"),
    [
        ("train/loss", "train/loss"),
        ("größe/损失", "größe/损失"),
        ("a\x1b[2Jb", "a\\x1b[2Jb"),
        ("two\nlines\t", "two\\nlines\\t"),
        ("nul\0", "nul\\x00"),
        ("evil\u202etxt", "evil\\u202etxt"),
        ("zero\u200bwidth", "zero\\u200bwidth"),
        ("caf\udce9", "caf\\xe9"),
        ("\ud800", "\\ud800"),
        ("\U000e0001", "\\U000e0001"),
    ],
)
def test_escape_shows_invisible_characters(raw, shown):
    assert escape(raw) == shown


def test_escape_keeps_both_ends_of_a_long_text_and_shows_its_length():
    assert escape("a" * 2**20 + "z", limit=9) == "aaaaaa…aaz (1,048,577 characters)"


def test_escape_limits_the_escaped_length():
    shown = escape("\0" * 150, limit=200)
    assert shown.startswith("\\x00\\x00")
    assert shown.endswith(" (150 characters)")
    assert len(shown.removesuffix(" (150 characters)")) <= 201


def test_escaped_text_can_always_be_printed():
    for code in range(0, 0x110000, 7):
        shown = escape(chr(code))
        assert shown.isprintable()
        shown.encode("utf-8")


def test_names_sort_by_the_value_of_their_numbers():
    names = ["seed-10", "seed-2", "lr=1e-3", "lr=1e-4", "lr=0.01", ".", "a+/b", "a/b", "a"]
    assert sorted(names, key=natural_key) == [
        ".",
        "a",
        "a/b",
        "a+/b",
        "lr=1e-4",
        "lr=1e-3",
        "lr=0.01",
        "seed-2",
        "seed-10",
    ]


def test_numbers_too_large_for_a_float_still_sort():
    assert sorted(["9" * 400 + "b", "9" * 400 + "a"], key=natural_key)[0].endswith("a")


def test_near_finds_typos_case_and_a_missing_folder():
    tags = ["train/loss", "val/loss", "Accuracy", "learning_rate"]
    assert near("los", ["loss", "lr"]) == ["loss"]
    assert near("accuracy", tags) == ["Accuracy"]
    assert near("loss", tags) == ["train/loss", "val/loss"]
    assert near("lerning_rate", tags) == ["learning_rate"]
    assert near("zebra", tags) == []
    assert near("", tags) == []


def test_near_finds_a_typo_in_the_last_part_of_a_path():
    assert near("los", ["lr", "train/loss", "val/loss"]) == ["train/loss", "val/loss"]


def test_near_finds_a_name_among_a_hundred_thousand():
    names = [f"layer{i % 100}/block{i}/weights" for i in range(100_000)]
    assert near("layer17/block5017/wieghts", names)[0] == "layer17/block5017/weights"


def test_near_ignores_very_long_names():
    assert near("x" * 2**20, ["x" * 2**20]) == []
    assert near("xx", ["x" * 2**20, "xxx"]) == ["xxx"]


def test_did_you_mean_reads_as_a_question():
    assert did_you_mean("los", ["loss"]) == "Did you mean 'loss'?"
    assert did_you_mean("loss", ["a/loss", "b/loss"]) == "Did you mean 'a/loss' or 'b/loss'?"
    assert (
        did_you_mean("loss", ["a/loss", "b/loss", "c/loss", "d/loss"])
        == "Did you mean 'a/loss', 'b/loss' or 'c/loss'?"
    )
    assert did_you_mean("loss", ["zebra"]) == ""
    assert did_you_mean("loss\n", ["loss\n2"]) == "Did you mean 'loss\\n2'?"


@pytest.mark.parametrize(
    ("count", "shown"),
    [
        (0, "0 B"),
        (999, "999 B"),
        (4096, "4.1 kB"),
        (99_960, "100 kB"),
        (999_600, "1.0 MB"),
        (2_345_000_000, "2.3 GB"),
        (10**16, "10.0 PB"),
    ],
)
def test_sizes(count, shown):
    assert human_bytes(count) == shown


@pytest.mark.parametrize(
    ("seconds", "shown"),
    [
        (0, "0.0 s"),
        (0.31, "0.3 s"),
        (9.96, "10 s"),
        (59.7, "1 min"),
        (125, "2 min 5 s"),
        (3600, "1 h"),
        (3605, "1 h"),
        (273_600, "3 d 4 h"),
        (-125, "-2 min 5 s"),
        (math.nan, "unknown"),
        (math.inf, "unknown"),
    ],
)
def test_durations(seconds, shown):
    assert human_duration(seconds) == shown


def test_counts_are_exact():
    assert human_count(1234567) == "1,234,567"
    assert human_count(1, "run") == "1 run"
    assert human_count(0, "run") == "0 runs"
    assert human_count(2000, "run") == "2,000 runs"


def test_only_the_first_of_many_names_are_listed():
    assert human_list(["a", "b\n"]) == "a, b\\n"
    assert human_list("abcdef") == "a, b, c, d, e and 1 more"
    assert human_list("abcdef", limit=2) == "a, b and 4 more"


def test_valid_values_are_listed_with_a_close_match():
    assert not_one_of("nan", "skp", ("skip", "propagate")) == (
        "nan must be one of 'skip', 'propagate', not 'skp'. Did you mean 'skip'?"
    )
    message = not_one_of("nan", 3, ("skip", "propagate"))
    assert message == "nan must be one of 'skip', 'propagate', not 3."


def test_wrapped_text_breaks_after_separators_and_loses_nothing():
    assert wrap("sweep/lr-0.1/seed-0", 30) == ["sweep/lr-0.1/seed-0"]
    assert wrap("sweep/lr-0.1/seed-0", 14) == ["sweep/lr-0.1/", "  seed-0"]
    assert wrap("abcdefgh", 3) == ["abc", "def", "gh"]
    assert wrap("漢字", 1) == ["漢", "字"]
    assert wrap("", 0) == [""]


def test_a_taken_name_gets_the_first_free_number():
    taken = {"a", "a-2", "{}"}
    assert free_name("b", taken.__contains__) == "b"
    assert free_name("a", taken.__contains__) == "a-3"
    assert free_name("{}", taken.__contains__, "{} ({})") == "{} (2)"
