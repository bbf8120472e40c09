"""The command `runfold show`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from runfold._cli.show_arguments import GRAPH, find_run, missing_tag, names_of, open_named
from runfold._cli.terminal import CommandError, note, note_problems
from runfold._cli.where_option import choose_logs, no_match
from runfold._events.kinds import KINDS, SCALAR
from runfold._humanize import did_you_mean, escape, human_bytes, human_count
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

Shows scalars as a curve and a table, text verbatim, an image as a small picture
if the terminal has colors, a histogram as bars, and any other kind as a
summary. Except for scalars and text, only the value at the last step is shown
unless --step or --all is given. RUN can be omitted if there is only one run. If
the first argument is not a path, it is taken as the name of a run in the folder
`runs`. With only a logdir, lists the runs and tags to choose from. A graph
without a tag has the name `graph`.

Example:
  runfold show demo-runs lr-0.1/seed-0 train/loss

Exit status: 0, or 2 if a path, run, tag, kind or step does not exist.
"""


def add_arguments(parser: Parser) -> None:
    """Declare the options."""
    parser.add_argument(
        "words",
        nargs="+",
        metavar="[LOGDIR] [RUN] TAG",
        help="A logdir, run, event file or glob (omit it if --logdir is given), then a run as"
        " listed by `runfold ls`, then a tag. Without LOGDIR, the folder `runs` is read.",
    )
    parser.add_logdir()
    parser.add_argument(
        "--step",
        type=int,
        metavar="N",
        help="Show only this step. Default: several steps for scalars and text, the last step"
        " for other kinds.",
    )
    parser.add_argument(
        "--kind",
        metavar="KIND",
        help="Kind to show, for a tag with several kinds. Default: the tag's only kind.",
    )
    parser.add_argument(
        "--all",
        action="store_true",
        help="Show every value instead of a selection. Default: off.",
    )
    parser.add_argument(
        "--csv",
        action="store_true",
        help="Print all scalars as CSV, unrounded. Default: off.",
    )
    parser.add_json()
    parser.add_argument(
        "-o",
        "--output",
        metavar="FILE",
        help="Save text, or the stored bytes of an image or audio clip, to a new file. Default:"
        " none.",
    )
    parser.add_argument(
        "--index",
        type=int,
        default=0,
        metavar="N",
        help="Number of the image or clip to save, counted from 0, if a step has several."
        " Default: 0.",
    )
    parser.add_where()
    parser.add_restarts()


def run(options: argparse.Namespace) -> int:
    """Print the values."""
    from runfold._cli import kind_views

    path, logdir, names = open_named(options)
    logs = {log.name: log for log in choose_logs(logdir, options.where)}
    if logdir.logs and not logs:
        raise CommandError(no_match(logdir, options.where))
    if names and (part := logdir.explain_part(names[0])):
        raise UnknownRun(part)
    log, name = find_run(logs, path, names)
    tag, kind = _tag_of(log, name)
    kind = find_kind(log, tag, kind or options.kind)
    if options.csv and kind != SCALAR:
        raise CommandError(f"--csv is only for scalars. Use --json for {kind} data.")
    note_problems(logdir, [log], [path])
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
    """Return the tag for a name, and its kind if the name implies it.

    `graph` means the run's graph without a tag. If the name is that of a mesh in the table of
    meshes, the tag of one of its parts is returned.
    """
    from runfold._tables.frames.decoded_values import name_of

    if name not in log.tag_kinds():
        if name == GRAPH and (GRAPH, "") in log.payloads:
            return "", GRAPH
        for (_, tag), payloads in log.payloads.items():
            if name_of(log, payloads) == name:
                return tag, None
    return name, None


def find_kind(log: RunLog, tag: str, requested: str | None) -> str:
    """Return the kind of a tag. Raises UnknownTag, or AmbiguousTag if a choice is needed."""
    from runfold._tables.frames.decoded_values import embeddings_of

    known = log.tag_kinds()
    kinds = list(known.get(tag, []))
    if not kinds or requested == "embedding":
        embeddings = [embedding.name for embedding in embeddings_of(log)]
        if tag in embeddings:
            kinds.append("embedding")
        known |= {name: ["embedding"] for name in embeddings}
    where = f"in run '{escape(log.name)}'"
    listed = " and ".join(kinds)
    if not kinds:
        if sentences := _plugin_sentences(log, tag):
            raise UnknownTag(f"Tag '{escape(tag)}' {where} cannot be shown. {sentences[0]}")
        if tag == log.name:
            raise UnknownTag(missing_tag(log))
        hint = (
            did_you_mean(tag, dict.fromkeys([*names_of(log), *known]))
            or "`runfold ls --tags` lists all tags."
        )
        raise UnknownTag(f"No tag '{escape(tag)}' {where}. {hint}")
    if requested is None and len(kinds) > 1:
        choices = " or ".join(f"--kind {kind}" for kind in kinds)
        raise AmbiguousTag(f"Tag '{escape(tag)}' {where} has {listed} data. Add {choices}.")
    if requested is not None and requested not in kinds:
        hint = did_you_mean(requested, kinds)
        raise UnknownTag(
            f"Tag '{escape(tag)}' {where} has {listed} data, not '{escape(requested)}'."
            f" {hint}".rstrip()
        )
    return requested or kinds[0]


def _plugin_sentences(log: RunLog, tag: str) -> list[str]:
    """Return sentences about a tag's values if Runfold does not know their plugin."""
    from runfold._tables.frames.unknown_plugins import describe_plugins, list_plugins

    return describe_plugins(line for line in list_plugins(log) if line.tag == tag)


def _decode(log: RunLog, kind: str, tag: str, options: argparse.Namespace) -> list[Row[Any]]:
    """Decode the values to show, without reading any others."""
    from runfold._cli.kind_views import TEXTS
    from runfold._tables.frames.decoded_values import ROWS, name_of

    payloads = log.payloads[kind, tag]
    if options.step is not None:
        _at_step(payloads.steps, options.step, tag)
    if kind == "text" and not (options.all or options.json or options.step is not None):
        return list(ROWS[kind]([(log, payloads.only(slice(-TEXTS, None)))]))
    if not KINDS[kind].has_tags:
        return list(ROWS[kind]([(log, payloads)]))
    # A mesh consists of several tags.
    name = name_of(log, payloads)
    parts = [part for (other, _), part in log.payloads.items() if other == kind]
    parts = [part for part in parts if name_of(log, part) == name]
    return list(ROWS[kind]((log, _at(part, payloads, options)) for part in parts))


def _at(payloads: Payloads, named: Payloads, options: argparse.Namespace) -> Payloads:
    if options.step is not None:
        return payloads.only(payloads.steps == options.step)
    if options.all or options.json or not len(named):
        return payloads
    return payloads.only(payloads.steps == named.steps[-1])


def _at_step(steps: NDArray[np.int64], step: int, tag: str) -> NDArray[np.bool_]:
    """Return a mask of the points at a step.

    Raises a CommandError that names the nearest steps if the tag has no point there.
    """
    mask: NDArray[np.bool_] = steps == step
    if not mask.any():
        known = sorted(set(steps.tolist()), key=lambda other: (abs(other - step), other))
        near = ", ".join(map(str, sorted(known[:2]))) or "none"
        raise CommandError(f"Tag '{escape(tag)}' has no step {step}. Nearest: {near}.")
    return mask


def _save(rows: list[Row[Any]], kind: str, options: argparse.Namespace) -> None:
    """Write one value to a new file."""
    from runfold._events.kinds.text import text_of

    if kind not in ("image", "audio", "text"):
        raise CommandError(f"-o saves images, audio and text. Use --json for {kind} data.")
    rows = [row for row in rows if row.step == rows[-1].step]
    if not 0 <= options.index < len(rows):
        raise CommandError(
            f"--index {options.index} is out of range: the step has"
            f" {human_count(len(rows), 'value')}, numbered from 0."
        )
    value = rows[options.index].value
    data = text_of(value).encode() if kind == "text" else value[1].data
    name = escape(options.output)
    try:
        with open(options.output, "xb") as file:
            file.write(data)
    except FileExistsError:
        raise CommandError(f"{name} already exists. Choose another file.") from None
    note(f"Saved {human_bytes(len(data))} to {name}.")
