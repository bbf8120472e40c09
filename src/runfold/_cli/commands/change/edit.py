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
Remove, rename or move what is in a log.

Writes a changed copy of the logdir, or lets it take the logdir's place and
keeps that as a backup. Deletes and renames tags and runs, moves tags from run
to run, keeps or cuts steps, thins series, strips kinds, shifts steps and times,
merges the folders of a restarted job and splits files that hold several runs.
What no rule touches stays byte for byte. Other files of the runs come along.
Prints what changed in each run.

Example:
  runfold edit demo-runs --delete-tags 'weights/*' --every 10 -o clean

Exit status: 0, or 2 for a name that fits nothing, a change that would spoil the
log, or output that exists.
"""


def add_arguments(parser: Parser) -> None:
    """Declare the options."""
    parser.add_logdirs()
    add_places(parser)
    _add_list(parser, "--runs", "RUN", "Change only these runs: a name or a glob in quotes.", "all")
    _add_list(parser, "--tags", "TAG", "Change only these tags: a name or a glob in quotes.", "all")
    _add_list(parser, "--delete-tags", "TAG", "Delete these tags.")
    _add_list(parser, "--keep-tags", "TAG", "Delete all other tags.")
    _add_list(
        parser,
        "--rename-tag",
        "OLD=NEW",
        "Rename a tag. Stars in a glob carry over (train_*=train/*); s/PATTERN/NEW/ takes a"
        " regular expression with groups.",
    )
    _add_list(
        parser,
        "--move-tag",
        "TAG=RUN",
        "Move a tag into another run, which may be new: a name or a glob in quotes; {run} in RUN is"
        " the run it comes from ('val/*={run}/val'), and stars carry over.",
    )
    parser.add_argument(
        "--strip",
        metavar="KINDS",
        help="Delete all values of these kinds, separated by commas: image, histogram, audio,"
        " text, tensor, graph, ... Default: none.",
    )
    _add_list(
        parser,
        "--steps",
        "A:B",
        "Keep only the steps from A on and below B; either may be left out.",
        "all",
    )
    _add_list(parser, "--cut-steps", "A:B", "Delete the steps from A on and below B.")
    parser.add_argument(
        "--every",
        type=int,
        default=1,
        metavar="N",
        help="Keep the points at multiples of N steps, and the first and last of each series."
        " Default: 1, all.",
    )
    parser.add_argument(
        "--shift-steps", type=int, default=0, metavar="N", help="Add to all steps. Default: 0."
    )
    parser.add_argument(
        "--shift-time",
        type=float,
        default=0.0,
        metavar="SECONDS",
        help="Add to all wall times. Default: 0.",
    )
    _add_list(parser, "--delete-runs", "RUN", "Delete runs, with the files in their folders.")
    _add_list(
        parser, "--rename-run", "OLD=NEW", "Move a run, and runs below its folder, as --rename-tag."
    )
    _add_list(
        parser,
        "--merge",
        "OLD=NEW",
        "Put the runs that OLD matches together as one, in the order in which they began.",
    )
    parser.add_argument(
        "--overlap",
        default="marker",
        metavar="POLICY",
        help="What --merge does where a later run goes back in steps: 'marker' writes a restart"
        " marker, 'cut' removes what it would hide, 'keep' does neither. Default: marker.",
    )
    parser.add_argument(
        "--split",
        metavar="WHERE",
        help="Make each part of a run a run part-1, part-2, ... of its own: parts begin at a file"
        " header within a file ('headers'), at each file too ('files'), or also at each restart"
        " marker ('sessions'). Default: off.",
    )
    parser.add_json()


def add_places(parser: Parser) -> None:
    """Declare where the result goes."""
    parser.add_argument(
        "-o", "--output", metavar="DIR", help="The new folder. Default: none; or --in-place."
    )
    parser.add_argument(
        "--in-place",
        action="store_true",
        help="Let the result take the place of the logdir, which is kept. Default: off.",
    )
    parser.add_argument(
        "--backup",
        metavar="DIR",
        help="Where --in-place keeps it. Default: LOGDIR.backup-DATE-TIME.",
    )
    parser.add_argument(
        "--dry-run",
        action="store_true",
        help="Say what would change, or be refused, and write nothing. Default: off.",
    )
    parser.add_argument(
        "--force",
        action="store_true",
        help="Change runs in place that are being written. Default: off.",
    )


def chosen_places(options: argparse.Namespace) -> dict[str, Any]:
    """What `edit` and `repair` are told of where the result goes, besides the output."""
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
    """Edit, and say what became of each run."""
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
        raise CommandError("Nothing to change: give a rule, such as --delete-tags. See --help.")
    report = edit(
        only_logdir(options.logdirs),
        options.output,
        **chosen_places(options),
        **{one.name: getattr(rules, one.name) for one in dataclasses.fields(rules)},
    )
    if options.json:
        print_json(report)
    else:
        for line in report.changed:
            print(line)
    for text in report.notes:
        note(text)
    note(_summarise(report, options.dry_run))
    return 0


def _summarise(report: Report, is_dry: bool) -> str:
    if not report.changed:
        return (
            "Nothing changes."
            if is_dry or report.target is None
            else (f"Nothing changes; {escape(report.target)} is a copy.")
        )
    before, after = (sum(run.bytes[side] for run in report.runs) for side in (0, 1))
    done = "would change" if is_dry else "changed"
    text = (
        f"{human_count(len(report.changed))} of {human_count(len(report.runs), 'run')} {done},"
        f" {human_bytes(before)} -> {human_bytes(after)}."
    )
    if report.backup is not None:
        text += f" The logdir as it was: {escape(report.backup, 4096)}"
    return text
