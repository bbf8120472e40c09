"""Log lines selected by level and time."""

import time

import pytest

from runfold._serve.tensorboards.log_lines import Marker, is_chosen

NOON = time.mktime(time.strptime("2026-03-01 12:00:00", "%Y-%m-%d %H:%M:%S"))
LATER = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(NOON + 60))
TODAY = time.time() - 60
STAMP = time.strftime("%m%d %H:%M:%S", time.localtime(TODAY))

LINES = [
    "no prefix",
    "2026-03-01 12:00:00 runfold: TensorBoard is running.",
    "continued",
    f"[{LATER} WARN  rustboard_core::run] Read error",
    f"E{STAMP}.123456 140 plugin.py:12] Cannot load",
    "Traceback:",
    "2026-99-99 99:99:99 runfold: looks like a prefix",
]


@pytest.mark.parametrize(
    ("options", "chosen"),
    [
        ({}, LINES),
        ({"level": "warning"}, LINES[3:]),
        ({"level": "error"}, LINES[4:]),
        ({"level": "critical"}, []),
        ({"after": NOON}, LINES[1:]),
        ({"after": NOON + 1, "before": NOON + 61}, LINES[3:4]),
        ({"after": TODAY - 2}, LINES[4:]),
        ({"before": NOON + 1}, LINES[:3]),
    ],
)
def test_lines_are_selected_with_their_continuation_lines(options, chosen):
    marked = Marker().mark(LINES)
    assert [line.text for line in marked if is_chosen(line, **options)] == chosen
