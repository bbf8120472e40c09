"""Views parsed from URLs, and the tags that they match."""

from urllib.parse import urlencode

import pytest

from runfold._serve.report.page_view import read_view


def test_pattern_that_backtracks_forever_is_matched_at_once():
    # Python's own search would take 2^60 steps for this, and block all threads.
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
def test_tags_are_found_by_substring_or_pattern(pattern, found):
    view = read_view(urlencode({"tags": pattern}))
    assert view.find_tags(["train/Loss", "val/loss", "lr[0]"]) == found


@pytest.mark.parametrize("before", ["", "?", "http://127.0.0.1:8000/?", "http://[::1]:8000/#"])
def test_url_is_parsed_with_or_without_the_part_before_the_query(before):
    assert read_view(f"{before}tab=runs&by=(?P<lr>[^/#]%2B)").by == "(?P<lr>[^/#]+)"


def test_invalid_unicode_is_escaped():
    assert read_view("by=\ud800").write() == "by=%5Cud800"
