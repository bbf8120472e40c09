"""What the address of a page says of the tags that it shows."""

from urllib.parse import urlencode

import pytest

from runfold._serve.report.page_view import read_view


def test_pattern_that_goes_back_for_ever_is_matched_at_once():
    # Python's own search would take 2^60 steps for this, and hold up all threads.
    tag = "a" * 60 + "!"
    assert read_view(urlencode({"tags": "(a+)+$"})).find_tags([tag, "b", "ba"]) == {"ba"}


@pytest.mark.parametrize(
    ("pattern", "found"),
    [
        ("", {"train/Loss", "val/loss", "lr[0]"}),
        ("LOSS$", {"train/Loss", "val/loss"}),
        ("lr[0]", {"lr[0]"}),
        ("[", {"train/Loss", "val/loss", "lr[0]"}),
        ("(?=val)", {"train/Loss", "val/loss", "lr[0]"}),
    ],
)
def test_tags_are_found_by_a_part_or_a_pattern(pattern, found):
    view = read_view(urlencode({"tags": pattern}))
    assert view.find_tags(["train/Loss", "val/loss", "lr[0]"]) == found


@pytest.mark.parametrize("before", ["", "?", "http://127.0.0.1:8000/?", "http://[::1]:8000/#"])
def test_address_is_read_with_or_without_what_stands_before_it(before):
    assert read_view(f"{before}tab=runs&by=(?P<lr>[^/#]%2B)").by == "(?P<lr>[^/#]+)"


def test_what_is_no_unicode_is_shown_with_escapes():
    assert read_view("by=\ud800").write() == "by=%5Cud800"
