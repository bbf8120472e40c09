"""The command `runfold edit`."""

from __future__ import annotations

import argparse
import dataclasses
from typing import TYPE_CHECKING, Any

from runfold._cli.logdir_option import only_logdir
from runfold._cli.terminal import CommandError, note, print_json
from runfold._humanize import escape, human_bytes, human_count

if TYPE_CHECKING:
    from runfold._cli.parser import Parser
    from runfold._edit.edit_report import Report

HELP = """\
Delete, rename, move or thin data in a log.

Writes an edited copy of the logdir, or replaces the logdir and keeps the
original as a backup. Deletes and renames tags and runs, moves tags to other
runs, deletes ranges of steps or whole kinds of data, thins series, shifts steps
and times, merges the folders of a restarted job, and splits files that contain
several runs. Data that no rule matches stays the same, byte for byte. Other
files in the runs' folders are copied. Prints what changed in each run.

Example:
  runfold edit demo-runs --delete-tags 'weights/*' --every 10 -o clean

Exit status: 0, or 2 if a name matches nothing, a change would damage the log,
or the output already exists.
"""


def add_arguments(parser: Parser) -> None:
    """Declare the options."""
    parser.add_logdirs()
    add_output_options(parser)
    _add_list(parser, "--runs", "RUN", "Edit only these runs: a name or a quoted glob.", "all")
    _add_list(parser, "--tags", "TAG", "Edit only these tags: a name or a quoted glob.", "all")
    _add_list(parser, "--delete-tags", "TAG", "Delete these tags.")
    _add_list(parser, "--keep-tags", "TAG", "Delete all tags except these.")
    _add_list(
        parser,
        "--rename-tag",
        "OLD=NEW",
        "Rename a tag. If OLD is a glob, each * in NEW is replaced by the text that the"
        " corresponding * in OLD matched (train_*=train/*). In s/PATTERN/NEW/, PATTERN is a regular"
        " expression and can have groups.",
    )
    _add_list(
        parser,
        "--move-tag",
        "TAG=RUN",
        "Move a tag (a name or a quoted glob) into another run, which can be new. In RUN, {run}"
        " is replaced by the tag's current run ('val/*={run}/val'), and each * by the text that"
        " the corresponding * in TAG matched.",
    )
    parser.add_argument(
        "--strip",
        metavar="KINDS",
        help="Delete all values of these kinds, separated by commas, such as image, histogram,"
        " audio, text, tensor or graph. Default: none.",
    )
    _add_list(
        parser,
        "--steps",
        "A:B",
        "Keep only steps that are at least A and below B; A or B can be omitted.",
        "all",
    )
    _add_list(parser, "--cut-steps", "A:B", "Delete steps that are at least A and below B.")
    parser.add_argument(
        "--every",
        type=int,
        default=1,
        metavar="N",
        help="Keep the points at steps that are multiples of N, and the first and last point of"
        " each series. Default: 1, which keeps all points.",
    )
    parser.add_argument(
        "--shift-steps", type=int, default=0, metavar="N", help="Add N to all steps. Default: 0."
    )
    parser.add_argument(
        "--shift-time",
        type=float,
        default=0.0,
        metavar="SECONDS",
        help="Add this many seconds to all wall times. Default: 0.",
    )
    _add_list(parser, "--delete-runs", "RUN", "Delete these runs and the files in their folders.")
    _add_list(
        parser,
        "--rename-run",
        "OLD=NEW",
        "Rename a run and the runs in its subfolders; same syntax as --rename-tag.",
    )
    _add_list(
        parser,
        "--merge",
        "OLD=NEW",
        "Merge the runs that OLD matches into the run NEW, in the order in which they started.",
    )
    parser.add_argument(
        "--overlap",
        default="marker",
        metavar="POLICY",
        help="How --merge handles a later run that starts again at an earlier step: 'marker'"
        " writes a restart marker, 'cut' deletes the points that the marker would hide, and 'keep'"
        " does neither. Default: marker.",
    )
    parser.add_argument(
        "--split",
        metavar="WHERE",
        help="Split each run into runs named part-1, part-2 and so on: 'headers' starts a part at"
        " each file header within a file, 'files' also at each file, and 'sessions' also at each"
        " restart marker. Default: off.",
    )
    parser.add_json()


def add_output_options(parser: Parser) -> None:
    """Declare where `edit` and `repair` write the result."""
    parser.add_argument(
        "-o",
        "--output",
        metavar="DIR",
        help="New folder for the result. Default: none; required unless --in-place or --dry-run is"
        " given.",
    )
    parser.add_argument(
        "--in-place",
        action="store_true",
        help="Replace the logdir, and keep the original as a backup. Default: off.",
    )
    parser.add_argument(
        "--backup",
        metavar="DIR",
        help="Backup folder for --in-place. Default: LOGDIR.backup-DATE-TIME.",
    )
    parser.add_argument(
        "--dry-run",
        action="store_true",
        help="Report what would change or be rejected, but write nothing. Default: off.",
    )
    parser.add_argument(
        "--force",
        action="store_true",
        help="Allow --in-place for runs that are still being written to. Default: off.",
    )


def output_options(options: argparse.Namespace) -> dict[str, Any]:
    """Return the output options of `edit` and `repair`, except --output, as keyword arguments."""
    return {name: getattr(options, name) for name in ("in_place", "backup", "dry_run", "force")}


def _add_list(parser: Parser, option: str, name: str, text: str, default: str = "none") -> None:
    parser.add_argument(
        option,
        action="append",
        default=[],
        metavar=name,
        help=f"{text} Repeatable. Default: {default}.",
    )


def run(options: argparse.Namespace) -> int:
    """Edit the log, and report what changed in each run."""
    from runfold._edit import edit
    from runfold._edit.edit_rules import Rules

    rules = Rules(
        runs=options.runs or None,
        tags=options.tags or None,
        delete_tags=options.delete_tags,
        keep_tags=options.keep_tags or None,
        rename_tags=options.rename_tag,
        move_tags=options.move_tag,
        strip=options.strip or (),
        steps=options.steps,
        cut_steps=options.cut_steps,
        every=options.every,
        shift_steps=options.shift_steps,
        shift_time=options.shift_time,
        delete_runs=options.delete_runs,
        rename_runs=options.rename_run,
        merge_runs=options.merge,
        overlap=options.overlap,
        split=options.split,
    )
    if not (rules.has_tag_rules or rules.has_run_rules):
        raise CommandError("Nothing to change. Add a rule such as --delete-tags; see --help.")
    report = edit(
        only_logdir(options.logdirs),
        options.output,
        **output_options(options),
        **{field.name: getattr(rules, field.name) for field in dataclasses.fields(rules)},
    )
    if options.json:
        print_json(report)
    else:
        for line in report.changed:
            print(line)
    for text in report.notes:
        note(text)
    note(_summarize(report, options.dry_run))
    return 0


def _summarize(report: Report, is_dry: bool) -> str:
    if not report.changed:
        return (
            "No changes."
            if is_dry or report.target is None
            else f"No changes; {escape(report.target)} is an unchanged copy."
        )
    before, after = (sum(run.bytes[side] for run in report.runs) for side in (0, 1))
    done = "would change" if is_dry else "changed"
    text = (
        f"{human_count(len(report.changed))} of {human_count(len(report.runs), 'run')} {done},"
        f" {human_bytes(before)} -> {human_bytes(after)}."
    )
    if report.backup is not None:
        text += f" Backup of the original: {escape(report.backup, 4096)}"
    return text
