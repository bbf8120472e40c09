"""Console text, cleaned up and logged to the run in chunks."""

from __future__ import annotations

import codecs
import os
import re
from collections import deque
from typing import TYPE_CHECKING

from runfold._conventions import STORY_PREFIX
from runfold._log.masking.masking import PrivateKeyFilter, mask_output
from runfold._log.masking.secret_names import known
from runfold._story.story_parts import OUTPUT, encode_story

if TYPE_CHECKING:
    from collections.abc import Callable

    from runfold._log.writer.sink import Sink

# The number of pieces that can wait for the next chunk; beyond it, the streams are paused.
_MOST_PIECES = 500
_LARGEST_CHUNK = 4 << 20
_LONGEST_LINE = 1 << 16
_TAIL = 1 << 14
_CODES = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[@-Z\\-_])")


class Transcript:
    """Logs console text to the run: redrawn lines collapsed, colors removed, size limited."""

    def __init__(self, writer: Sink, limit: int, first_step: int = 0) -> None:
        self._writer = writer
        self._left = limit
        self._step = first_step
        # Pieces in order of arrival, each with its stream's number. Appended without a
        # lock, because a fork could leave a lock locked forever.
        self._waiting: deque[tuple[int, str]] = deque()
        # The unfinished last line of each stream. They are kept apart so that two streams
        # written at the same time do not mix within a line.
        self._open: list[str] = []
        self._tail = ""
        self._dropped = 0
        self._keys = PrivateKeyFilter()

    def feed(self) -> Callable[[str | bytes], object]:
        """Add a stream and return a function that accepts its text or bytes."""
        decoder = codecs.getincrementaldecoder("utf-8")("replace")
        waiting, pid = self._waiting, os.getpid()
        stream = len(self._open)
        self._open.append("")

        def take(data: str | bytes) -> None:
            text = data if isinstance(data, str) else decoder.decode(data)
            if text and os.getpid() == pid:  # a forked child does not log
                waiting.append((stream, text))

        return take

    @property
    def is_full(self) -> bool:
        """Whether streams should wait before adding more."""
        return len(self._waiting) > _MOST_PIECES

    def log(self, is_last: bool = False) -> None:
        """Log the complete lines; if `is_last` is set, also log unfinished lines and the tail."""
        if self._writer.is_closed:
            return
        lines = ""
        while self._waiting:
            stream, text = self._waiting.popleft()
            whole, self._open[stream] = self._split(self._open[stream] + text)
            lines += whole
            if len(lines) > _LARGEST_CHUNK:  # too much for one chunk
                self._store(lines)
                lines = ""
        self._store(lines)
        if not is_last:
            return
        for stream, rest in enumerate(self._open):
            self._store(self._collapse(rest))
            self._open[stream] = ""
        if self._dropped:
            left_out = self._dropped - len(self._tail)
            note = f"… {left_out:,} characters of output are not stored …\n" if left_out else ""
            self._log(note + self._tail)
            self._dropped, self._tail = 0, ""

    def _split(self, text: str) -> tuple[str, str]:
        """Return the whole lines, and the current state of the unfinished last line."""
        *whole, rest = text.split("\n")
        lines = "".join(f"{self._collapse(line)}\n" for line in whole)
        # Keep only the last state of a redrawn progress bar. A carriage return at the
        # end may be the first half of "\r\n".
        if "\r" in rest[:-1]:
            end = "\r" if rest.endswith("\r") else ""
            rest = self._collapse(rest) + end
        return (lines + rest, "") if len(rest) > _LONGEST_LINE else (lines, rest)

    def _collapse(self, line: str) -> str:
        if "\x1b" in line:
            line = _CODES.sub("", line)
        if "\r" not in line:
            return line
        states = [state for state in line.split("\r") if state.strip()]
        return states[-1] if states else ""

    def _store(self, text: str) -> None:
        stored, rest = text[: self._left], text[self._left :]
        self._left -= len(stored)
        if stored:
            self._log(stored)
        if rest:
            self._dropped += len(rest)
            self._tail = (self._tail + rest)[-_TAIL:]

    def _log(self, text: str) -> None:
        # Scripts often start with `print(args)`, or load their secrets late.
        known.learn(os.environ)
        message = encode_story(OUTPUT, mask_output(self._keys.hide(text)))
        self._writer.add_value(STORY_PREFIX + OUTPUT, message, self._step)
        self._step += 1
