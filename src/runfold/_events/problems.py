"""Problems found in a log. They are reported, and reading continues."""

import os
from dataclasses import dataclass, replace
from enum import StrEnum

from runfold._humanize import escape


class Code(StrEnum):
    """The problem codes: stable names for use in programs."""

    INCOMPLETE_TAIL = "incomplete-tail"
    BAD_PAYLOAD_CHECKSUM = "bad-payload-checksum"
    BAD_LENGTH_CHECKSUM = "bad-length-checksum"
    ZERO_FILLED_TAIL = "zero-filled-tail"
    RECORD_TOO_LONG = "record-too-long"
    NOT_AN_EVENT_FILE = "not-an-event-file"
    COMPRESSED = "compressed"

    MALFORMED_EVENT = "malformed-event"
    INVALID_UTF8_TAG = "invalid-utf8-tag"
    TWO_KINDS = "two-kinds"
    BAD_TENSOR = "bad-tensor"
    BAD_HISTOGRAM = "bad-histogram"
    BAD_VALUE = "bad-value"
    UNKNOWN_WALL_TIME = "unknown-wall-time"
    ROUNDED_INTEGER = "rounded-integer"

    PERMISSION_DENIED = "permission-denied"
    READ_ERROR = "read-error"
    FILE_VANISHED = "file-vanished"
    SPECIAL_FILE = "special-file"
    ODD_SIDE_FILE = "odd-side-file"
    BAD_CONFIG_FILE = "bad-config-file"
    DANGLING_LINK = "dangling-link"
    SYMLINK_LOOP = "symlink-loop"
    UNREADABLE_DIRECTORY = "unreadable-directory"
    DIRECTORY_VANISHED = "directory-vanished"
    TOO_DEEP = "too-deep"
    UNFINISHED_FOLDER = "unfinished-folder"
    LINK_NOT_FOLLOWED = "link-not-followed"
    LINK_CUT_SHORT = "link-cut-short"


# The fact and its effect. {record} becomes "record at byte 4096".
MESSAGES: dict[Code, tuple[str, str]] = {
    Code.INCOMPLETE_TAIL: (
        "{record} is incomplete",
        "It will be read once the rest has been written.",
    ),
    Code.BAD_PAYLOAD_CHECKSUM: ("{record} has a bad payload checksum", "Skipped."),
    Code.BAD_LENGTH_CHECKSUM: (
        "{record} has a bad length checksum",
        "The rest of the file was not read.",
    ),
    Code.ZERO_FILLED_TAIL: (
        "{record} is incomplete, with zeros up to the end of the file",
        "It will be read again when the file changes.",
    ),
    Code.RECORD_TOO_LONG: ("{record} claims to be longer than the limit", "Skipped."),
    Code.NOT_AN_EVENT_FILE: ("not an event file", "Skipped."),
    Code.COMPRESSED: (
        "a compressed file, not a plain event file",
        "Skipped. Decompress it first.",
    ),
    Code.MALFORMED_EVENT: ("{record} is not a valid event", "Skipped."),
    Code.INVALID_UTF8_TAG: ("{record} has a tag that is not UTF-8", "The tag is shown escaped."),
    Code.TWO_KINDS: ("a tag has two kinds of data", "Both were kept as separate series."),
    Code.BAD_TENSOR: (
        "{record} has a tensor whose shape does not match its content",
        "The point was skipped.",
    ),
    Code.BAD_HISTOGRAM: (
        "{record} has a histogram with arrays of unequal length",
        "The point was skipped.",
    ),
    Code.BAD_VALUE: ("{record} has a value that cannot be decoded", "The point was skipped."),
    Code.UNKNOWN_WALL_TIME: (
        "{record} has an invalid wall time",
        "The value was kept; its wall time is unknown.",
    ),
    Code.ROUNDED_INTEGER: (
        "{record} has an integer that float64 cannot represent exactly",
        "The nearest float64 was kept.",
    ),
    Code.PERMISSION_DENIED: ("permission denied", "Skipped."),
    Code.READ_ERROR: ("cannot be read", "Data read earlier was kept."),
    Code.FILE_VANISHED: ("the file no longer exists", "Data read earlier was kept."),
    Code.SPECIAL_FILE: ("not a regular file", "Skipped without opening it."),
    Code.ODD_SIDE_FILE: (
        "a side file of the run that is not a small regular file",
        "Ignored, as if it were missing. Delete it.",
    ),
    Code.BAD_CONFIG_FILE: (
        "a configuration file that cannot be read",
        "The settings in this file are missing.",
    ),
    Code.DANGLING_LINK: ("a link to a file that does not exist", "Skipped."),
    Code.SYMLINK_LOOP: ("a link that points back to itself", "Not followed again."),
    Code.UNREADABLE_DIRECTORY: (
        "the folder cannot be listed",
        "Runs below it, if any, are missing.",
    ),
    Code.DIRECTORY_VANISHED: (
        "the folder disappeared while it was being read",
        "Runs below it, if any, are missing.",
    ),
    Code.TOO_DEEP: (
        "the folder is nested too deeply",
        "Runs below it, if any, are missing.",
    ),
    Code.UNFINISHED_FOLDER: (
        "a folder that Runfold did not finish writing",
        "Not read. Delete it, unless an edit or export is still running.",
    ),
    Code.LINK_NOT_FOLLOWED: (
        "a link to a folder that is not searched for runs",
        "Not followed. To read the runs in that folder, open the folder itself.",
    ),
    Code.LINK_CUT_SHORT: (
        "a link to a tree with more folders than Runfold searches below links",
        "Some runs may be missing. To read all of them, open the linked folder itself.",
    ),
}


@dataclass(frozen=True, slots=True)
class Problem:
    """A problem in a log: where it is, what is wrong, and what was done about it.

    `file` is a full path, `offset` is the byte where the problem starts, if known, and
    `run` is the name of the run that the problem belongs to, if any.
    """

    code: Code
    message: str
    file: str
    offset: int | None = None
    run: str = ""

    @classmethod
    def of(
        cls,
        code: Code | str,
        file: str,
        offset: int | None = None,
        run: str = "",
        detail: str = "",
    ) -> "Problem":
        """Return a problem with the message for its code.

        `detail`, such as the tag or the system's error message, is added in
        parentheses.
        """
        code = Code(code)
        fact, effect = MESSAGES[code]
        record = "a record" if offset is None else f"record at byte {offset}"
        more = f" ({escape(detail)})" if detail else ""
        return cls(code, f"{fact.format(record=record)}{more}. {effect}", file, offset, run)

    def in_run(self, run: str) -> "Problem":
        """Return the same problem, assigned to a run."""
        return replace(self, run=run)

    @property
    def place(self) -> str:
        """The run and file name, escaped, or the whole path if the run is unknown."""
        if not self.run:
            return escape(self.file)
        name = os.path.basename(self.file)
        return escape(name if self.run == "." else f"{self.run}/{name}")

    def __str__(self) -> str:
        return f"{self.place}: {self.message}"
