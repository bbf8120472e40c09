"""Pages of the site that are derived: from the package, the changelog and the examples."""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterator
from pathlib import Path

from runfold._cli.commands import GROUPS, find_commands, summarize_command
from runfold._cli.parser import Parser, load, parser_of
from runfold._events.kinds import KINDS
from runfold._events.problems import MESSAGES
from runfold._reduce.statistics import BAND_LABELS, BANDS, STATISTICS

ROOT = Path(__file__).resolve().parent.parent
EXAMPLES = ROOT / "examples"

GROUP_TITLES = {
    "read": "Read",
    "query": "Query",
    "fold": "Fold",
    "change": "Change",
    "look": "Look",
    "log": "Log",
}


def write(pages: Path) -> None:
    """Write all derived pages into the folder of the site's pages."""
    texts = {
        "reference/commands.md": describe_commands(),
        "reference/kinds.md": describe_kinds(),
        "reference/statistics.md": describe_statistics(),
        "reference/problems.md": describe_problems(),
        "changelog.md": move_links((ROOT / "CHANGELOG.md").read_text(encoding="utf-8")),
        "examples/index.md": (EXAMPLES / "README.md")
        .read_text(encoding="utf-8")
        .replace(".ipynb)", ".md)"),
    }
    for name, text in texts.items():
        (pages / name).parent.mkdir(parents=True, exist_ok=True)
        (pages / name).write_text(text, encoding="utf-8")
    for path in sorted(EXAMPLES.glob("*.ipynb")):
        write_notebook(path, pages / "examples")


def move_links(text: str) -> str:
    """Return a page from the repository's root with links that work at the root of the site."""
    return text.replace("](docs/", "](")


def describe_commands() -> str:
    """Return the page on all commands, derived from their parsers."""
    lines = [
        "# Commands",
        "",
        "Every command that reads logs takes what you would pass to `tensorboard --logdir`: a"
        " folder of runs, one run, an event file or a glob. Data goes to stdout; notes and"
        " progress go to stderr. `runfold COMMAND --help` prints the same text.",
        "",
        "| command | what it does |",
        "|---|---|",
        *(
            f"| [`runfold {name}`](#runfold-{name}) | {cell(summarize_command(name))} |"
            for name in find_commands()
        ),
    ]
    for group in GROUPS:
        lines += ["", f"## {GROUP_TITLES[group]}"]
        for name, module in find_commands().items():
            if f".commands.{group}." in module:
                lines += ["", *describe_parser(parser_of(name, load(name)), 3)]
    return "\n".join(lines) + "\n"


def describe_parser(parser: Parser, level: int) -> Iterator[str]:
    """Yield the lines for one command: its description, its options, then its actions."""
    description = (parser.description or "").strip()
    summary, _, rest = description.partition("\n")
    # argparse gives every line of the usage the same indent.
    usage = re.sub(r"\n +", "\n    ", parser.format_usage().removeprefix("Usage: ").strip())
    yield from (f"{'#' * level} {parser.prog}", "", summary, "", "```text", usage, "```", "")
    yield from describe_text(rest.strip())
    formatter = parser._get_formatter()
    actions = [action for action in parser._actions if action.help != argparse.SUPPRESS]
    subcommands = [action for action in actions if isinstance(action, argparse._SubParsersAction)]
    rows = [action for action in actions if action not in subcommands]
    if rows:
        yield from ("| option | what it does |", "|---|---|")
    for action in rows:
        name = ", ".join(action.option_strings) or str(action.metavar or action.dest)
        if action.option_strings and action.nargs != 0:
            name += f" {formatter._format_args(action, action.dest.upper())}"
        text = formatter._expand_help(action) if action.help else ""
        yield f"| `{name.replace('|', chr(92) + '|')}` | {cell(text)} |"
    for subcommand in subcommands:
        for inner in subcommand.choices.values():
            yield ""
            yield from describe_parser(inner, level + 1)


def describe_text(text: str) -> Iterator[str]:
    """Yield a help text as Markdown: paragraphs as they are, indented lines as code."""
    for paragraph in filter(None, re.split(r"\n\s*\n", text)):
        is_code = False
        for line in paragraph.splitlines():
            if line.startswith("  ") != is_code:
                yield from ("```text",) if not is_code else ("```", "")
                is_code = not is_code
            yield line[2:] if is_code else line
        yield from ("```", "") if is_code else ("",)


def describe_kinds() -> str:
    """Return the page on the kinds of data, derived from their registry."""
    lines = [
        "# Kinds of data",
        "",
        "Runfold reads event files in the old and the new format, written by torch, tensorboardX,"
        " TensorFlow 1 and 2, Keras and JAX tools. For each kind of data,"
        " [`Runs`](python/runs.md) has a method that returns a DataFrame. Its first columns are"
        " `run`, `tag`, `step` and `wall_time`, unless the kind describes a run as a whole.",
        "",
        "| kind | methods | TensorBoard plugins | has steps |",
        "|---|---|---|---|",
    ]
    for kind in KINDS.values():
        tables = [kind.plural, *(table for _, table in kind.tables)]
        methods = ", ".join(f"`runs.{table}()`" for table in tables)
        plugins = ", ".join(f"`{plugin}`" for plugin in kind.plugins) or "none"
        lines.append(
            f"| {kind.name.replace('_', ' ')} | {methods} | {plugins}"
            f" | {'no' if kind.is_stepless or not kind.has_tags else 'yes'} |"
        )
    lines += [
        "",
        "Tensors of other plugins are listed with their count and size, and read by"
        " `runs.tensors()` if they are plain arrays.",
    ]
    return "\n".join(lines) + "\n"


def describe_statistics() -> str:
    """Return the page on statistics and bands, derived from their registry."""
    lines = [
        "# Statistics",
        "",
        "`runs.reduce` and `runfold reduce -r` accept these names. NaN values are skipped, and"
        " `count` is the number of runs that remain at a step."
        " [Statistics and intervals](../explanation/statistics.md) explains which one to choose.",
        "",
        "| name | meaning | can be a line with a band |",
        "|---|---|---|",
    ]
    for name, statistic in STATISTICS.items():
        meaning = statistic.about or statistic.label or name
        lines.append(f"| `{name}` | {meaning} | {'yes' if statistic.cut else 'no'} |")
    lines += [
        "| `q05`, `q25`, `q97.5`, ... | a quantile, in percent | no |",
        "| `ci95`, `ci90`, ... | bootstrap interval of the mean, at this level in percent | no |",
        "| `ci95-iqm`, `ci95-median` | bootstrap interval of another centre | no |",
        "",
        "## Bands",
        "",
        "Charts offer these bands around a line:",
        "",
        "| name | label in the page | edges |",
        "|---|---|---|",
    ]
    for name, edges in BANDS.items():
        is_spread = edges[0] == edges[1]
        text = f"line ± `{name}`" if is_spread else f"`{edges[0]}` to `{edges[1]}`"
        lines.append(f"| `{name}` | {BAND_LABELS[name]} | {text} |")
    return "\n".join(lines) + "\n"


def describe_problems() -> str:
    """Return the page on the problems that readers report, derived from their registry."""
    lines = [
        "# Problems",
        "",
        "Readers skip what is damaged, read the rest, and report a problem. `runfold check` and"
        " `runs.problems()` list the problems of a log; with `strict=True` or `--strict`, the"
        " first one is raised instead.",
        "",
        "| code | what is wrong | what happens |",
        "|---|---|---|",
    ]
    for code, (fact, effect) in MESSAGES.items():
        text = fact.replace("{record}", "a record")
        lines.append(f"| `{code.value}` | {cell(text)} | {cell(effect)} |")
    return "\n".join(lines) + "\n"


def cell(text: str) -> str:
    """Return a text escaped for a table cell."""
    return " ".join(text.split()).replace("|", "\\|").replace("<", "&lt;")


def write_notebook(path: Path, folder: Path) -> None:
    """Write a notebook as a page with its outputs, and its pictures next to the page."""
    from nbconvert import MarkdownExporter

    name = path.stem
    text, resources = MarkdownExporter().from_filename(
        str(path), resources={"output_files_dir": name, "unique_key": name}
    )
    for picture, data in resources["outputs"].items():
        (folder / picture).parent.mkdir(parents=True, exist_ok=True)
        (folder / picture).write_bytes(data)
    # DataFrames keep their HTML table, but not the style sheet that comes with each.
    text = re.sub(r"<style scoped>.*?</style>\n?", "", text, flags=re.DOTALL)
    (folder / f"{name}.md").write_text(text, encoding="utf-8")
