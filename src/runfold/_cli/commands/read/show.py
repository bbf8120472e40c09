"""The command `runfold show`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from runfold._cli.show_arguments import GRAPH, ask_for_tag, find_run, names_of, open_named
from runfold._cli.terminal import CommandError, note, tell_problems
from runfold._cli.where_option import choose_logs, none_fulfils
from runfold._events.kinds import KINDS, SCALAR
from runfold._humanize import did_you_mean, escape, human_bytes
from runfold.errors import AmbiguousTag, UnknownRun, UnknownTag

if TYPE_CHECKING:
    import argparse

    import numpy as np
    from numpy.typing import NDArray

    from runfold._cli.parser import Parser
    from runfold._logdir.payloads import Payloads
    from runfold._logdir.run_log import RunLog
    from runfold._tables.frames.value_rows import Row

USAGE = "runfold show [options] [LOGDIR] [RUN] TAG"

HELP = """\
Show the values of one tag in the terminal.

Scalars come as a curve and a table, text as it is, an image as a small picture
where the terminal has colours, a histogram as bars, and any other kind as a
summary. Except for scalars and text, only the value of the last step is shown
unless --step or --all says otherwise. RUN may be left out where there is but
one. A first word that is not a path is a run in the folder `runs`. A logdir
alone gives the runs and tags to choose from. A graph without a tag is shown by
the name `graph`.

Example:
  runfold show demo-runs lr-0.1/seed-0 train/loss

Exit status: 0, or 2 for a path, run, tag, kind or step that does not exist.
"""


def add_arguments(parser: Parser) -> None:
    """Declare the options."""
    parser.add_argument(
        "words",
        nargs="+",
        metavar="[LOGDIR] [RUN] TAG",
        help="A logdir, a run, an event file or a glob, unless --logdir names it; the run, as"
        " `runfold ls` names it; the tag. Without LOGDIR, the folder `runs` is read.",
    )
    parser.add_logdir()
    parser.add_argument("--step", type=int, metavar="N", help="Only this step. Default: as above.")
    parser.add_argument(
        "--kind",
        metavar="KIND",
        help="Which kind is meant, for a tag that holds two. Default: the tag's only kind.",
    )
    parser.add_argument(
        "--all", action="store_true", help="Every value instead of some. Default: off."
    )
    parser.add_argument(
        "--csv", action="store_true", help="Print every scalar as CSV, exactly. Default: off."
    )
    parser.add_json()
    parser.add_argument(
        "-o",
        "--output",
        metavar="FILE",
        help="Save the stored bytes of an image or audio clip, or a text, to a new file."
        " Default: nothing is saved.",
    )
    parser.add_argument(
        "--index",
        type=int,
        default=0,
        metavar="N",
        help="Which of several images or clips of one step to save. Default: 0.",
    )
    parser.add_where()
    parser.add_restarts()


def run(options: argparse.Namespace) -> int:
    """Print the values."""
    from runfold._cli import kind_views

    path, logdir, names = open_named(options)
    logs = {log.name: log for log in choose_logs(logdir, options.where)}
    if logdir.logs and not logs:
        raise CommandError(none_fulfils(logdir, options.where))
    if names and (part := logdir.explain_part(names[0])):
        raise UnknownRun(part)
    log, name = find_run(logs, path, names)
    tag, kind = _tag_of(log, name)
    kind = find_kind(log, tag, kind or options.kind)
    if options.csv and kind != SCALAR:
        raise CommandError(f"--csv is for scalars; {kind} data comes with --json.")
    tell_problems(logdir, [log], [path])
    if kind == SCALAR:
        if options.output:
            raise CommandError("-o saves images, audio and text; for scalars use --csv > FILE.")
        series = log.scalars[tag]
        mask = _at_step(series.steps, options.step, tag) if options.step is not None else None
        kind_views.show_scalar(series, mask, options)
    elif kind == "embedding":
        kind_views.show_embeddings(log, tag, options)
    else:
        rows = _decode(log, kind, tag, options)
        if options.output:
            _save(rows, kind, options)
        else:
            kind_views.show_rows(log, log.payloads[kind, tag], rows, options)
        for sentence in _plugin_sentences(log, tag):
            note(sentence)
    return 0


def _tag_of(log: RunLog, name: str) -> tuple[str, str | None]:
    """The tag that is named, and its kind where the name says it.

    `graph` is the graph that a run has without a tag. A mesh may be named as its table
    names it; it then is the tag of one of its parts.
    """
    from runfold._tables.frames.decoded_values import name_of

    if name not in log.tag_kinds():
        if name == GRAPH and (GRAPH, "") in log.payloads:
            return "", GRAPH
        for (_, tag), payloads in log.payloads.items():
            if name_of(log, payloads) == name:
                return tag, None
    return name, None


def find_kind(log: RunLog, tag: str, wanted: str | None) -> str:
    """The kind of a tag. Raises where there is none, or more than one and none is wanted."""
    from runfold._tables.frames.decoded_values import embeddings_of

    known = log.tag_kinds()
    kinds = list(known.get(tag, []))
    if not kinds or wanted == "embedding":
        embeddings = [one.name for one in embeddings_of(log)]
        if tag in embeddings:
            kinds.append("embedding")
        known |= {name: ["embedding"] for name in embeddings}
    where = f"in run '{escape(log.name)}'"
    held = " and ".join(kinds)
    if not kinds:
        if sentences := _plugin_sentences(log, tag):
            raise UnknownTag(f"Tag '{escape(tag)}' {where} cannot be shown. {sentences[0]}")
        if tag == log.name:
            raise UnknownTag(ask_for_tag(log))
        hint = (
            did_you_mean(tag, dict.fromkeys([*names_of(log), *known]))
            or "`runfold ls --tags` lists what there is."
        )
        raise UnknownTag(f"No tag '{escape(tag)}' {where}. {hint}")
    if wanted is None and len(kinds) > 1:
        choices = " or ".join(f"--kind {kind}" for kind in kinds)
        raise AmbiguousTag(f"Tag '{escape(tag)}' {where} holds {held} data. Add {choices}.")
    if wanted is not None and wanted not in kinds:
        hint = did_you_mean(wanted, kinds)
        raise UnknownTag(
            f"Tag '{escape(tag)}' {where} holds {held} data, none of the kind '{escape(wanted)}'."
            f" {hint}".rstrip()
        )
    return wanted or kinds[0]


def _plugin_sentences(log: RunLog, tag: str) -> list[str]:
    """What is said of the values of a tag whose plugin Runfold does not know."""
    from runfold._tables.frames.unknown_plugins import describe_plugins, list_plugins

    return describe_plugins(line for line in list_plugins(log) if line.tag == tag)


def _decode(log: RunLog, kind: str, tag: str, options: argparse.Namespace) -> list[Row[Any]]:
    """The values to show, decoded; no others are read."""
    from runfold._cli.kind_views import TEXTS
    from runfold._tables.frames.decoded_values import ROWS, name_of

    payloads = log.payloads[kind, tag]
    if options.step is not None:
        _at_step(payloads.steps, options.step, tag)
    if kind == "text" and not (options.all or options.json or options.step is not None):
        return list(ROWS[kind]([(log, payloads.only(slice(-TEXTS, None)))]))
    if not KINDS[kind].has_tags:
        return list(ROWS[kind]([(log, payloads)]))
    # A mesh is made of several tags.
    name = name_of(log, payloads)
    parts = [found for (other, _), found in log.payloads.items() if other == kind]
    parts = [found for found in parts if name_of(log, found) == name]
    return list(ROWS[kind]((log, _at(found, payloads, options)) for found in parts))


def _at(payloads: Payloads, named: Payloads, options: argparse.Namespace) -> Payloads:
    if options.step is not None:
        return payloads.only(payloads.steps == options.step)
    if options.all or options.json or not len(named):
        return payloads
    return payloads.only(payloads.steps == named.steps[-1])


def _at_step(steps: NDArray[np.int64], step: int, tag: str) -> NDArray[np.bool_]:
    """Which points have this step. Raises with the nearest steps where none has."""
    mask: NDArray[np.bool_] = steps == step
    if not mask.any():
        known = sorted(set(steps.tolist()), key=lambda other: (abs(other - step), other))
        near = ", ".join(map(str, sorted(known[:2]))) or "none"
        raise CommandError(f"Tag '{escape(tag)}' has no step {step}. The nearest are {near}.")
    return mask


def _save(rows: list[Row[Any]], kind: str, options: argparse.Namespace) -> None:
    """Write one value to a file that does not exist yet."""
    from runfold._events.kinds.text import text_of

    if kind not in ("image", "audio", "text"):
        raise CommandError(f"-o saves images, audio and text; {kind} data comes with --json.")
    found = [row for row in rows if row.step == rows[-1].step]
    if not 0 <= options.index < len(found):
        raise CommandError(f"No number {options.index}: the step has {len(found)}, from 0 on.")
    value = found[options.index].value
    data = text_of(value).encode() if kind == "text" else value[1].data
    name = escape(options.output)
    try:
        with open(options.output, "xb") as file:
            file.write(data)
    except FileExistsError:
        raise CommandError(f"{name} exists already. Name a new file.") from None
    note(f"Saved {human_bytes(len(data))} to {name}.")
