"""The message for a tag without scalars: the method that reads the tag, or similar tags."""

from __future__ import annotations

from typing import TYPE_CHECKING

from runfold._events.kinds import KINDS
from runfold._humanize import did_you_mean, escape
from runfold._tables.frames.decoded_values import name_of

if TYPE_CHECKING:
    from runfold._logdir.run_log import RunLog


def explain_missing(log: RunLog, tag: str) -> str:
    """Return the reason why a run has no scalars under a tag, and what to use instead.

    A tag of another kind is shown with the method that returns its table:

        No tag 'note' in run 'a'. Did you mean 'note/text_summary' (text; use
        run.text('note/text_summary'))?
    """
    # The kind and the method of each tag, by its name in the table and by its stored name.
    methods: dict[str, tuple[str, str]] = {}
    for (kind, stored), payloads in log.payloads.items():
        name = name_of(log, payloads)
        for known in (name, stored):
            methods.setdefault(known, (kind, _call(kind, name)))
    run = f"run '{escape(log.name)}'"
    if tag in methods:
        kind, method = methods[tag]
        return f"Tag '{escape(tag)}' in {run} contains {kind} data, not scalars. Use {method}."

    def show(candidate: str) -> str:
        if candidate in log.scalars:
            return f"'{escape(candidate)}'"
        kind, method = methods[candidate]
        return f"'{escape(candidate)}' ({kind}; use {method})"

    hint = did_you_mean(tag, dict.fromkeys([*log.scalars, *methods]), show)
    return f"No tag '{escape(tag)}' in {run}. {hint}".rstrip()


def _call(kind: str, name: str) -> str:
    argument = f"'{escape(name)}'" if KINDS[kind].has_tags and name else ""
    return f"run.{KINDS[kind].plural}({argument})"
