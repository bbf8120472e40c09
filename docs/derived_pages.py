"""The pages of the site that are derived from the package, the changelog and the examples."""

from __future__ import annotations

import argparse
import ast
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
INTEGRATIONS = ROOT / "src" / "runfold" / "integrations"

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
        "reference/python/integrations.md": describe_integrations(),
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
    for path in sorted(EXAMPLES.rglob("*.ipynb")):
        write_notebook(path, pages / path.parent.relative_to(ROOT))


def move_links(text: str) -> str:
    """Return a page from the root of the repository, with links that work at the site's root."""
    return text.replace("](docs/", "](")


def describe_commands() -> str:
    """Return the page on all commands, derived from their parsers."""
    lines = [
        "# Commands",
        "",
        "Every command that reads logs accepts what you would pass to `tensorboard --logdir`, and"
        " also a single event file, a pack or a quoted glob. Data goes to stdout; notes and"
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
    """Yield the lines of a help text as Markdown: paragraphs unchanged, indented lines as code."""
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
        "Runfold reads event files in both the old and the new format, from torch, tensorboardX,"
        " TensorFlow 1 and 2, Keras and JAX tools. For each kind of data,"
        " [`Runs`](python/runs.md) has a method that returns a DataFrame. Its first columns are"
        " `run`, `tag`, `step` and `wall_time`, unless the data describes the whole run.",
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
        "Runfold lists tensors of other plugins with their count and size. If they are plain"
        " arrays, `runs.tensors()` reads them.",
    ]
    return "\n".join(lines) + "\n"


def describe_statistics() -> str:
    """Return the page on statistics and bands, derived from their registry."""
    lines = [
        "# Statistics",
        "",
        "`runs.reduce` and `runfold reduce -r` accept these names. By default, NaN is skipped,"
        " and `count` is the number of runs that remain at a step."
        " [Statistics and intervals](../explanation/statistics.md) explains how to choose.",
        "",
        "| name | meaning | can be a line with a band |",
        "|---|---|---|",
    ]
    for name, statistic in STATISTICS.items():
        meaning = statistic.about or statistic.label or name
        lines.append(f"| `{name}` | {meaning} | {'yes' if statistic.cut else 'no'} |")
    lines += [
        "| `q05`, `q25`, `q97.5`, ... | quantile at this percentage | no |",
        "| `ci95`, `ci90`, ... | bootstrap interval for the mean, at this level in percent | no |",
        "| `ci95-iqm`, `ci95-median` | bootstrap interval for the iqm or the median | no |",
        "",
        "## Bands",
        "",
        "Charts on the page can show these bands around a line:",
        "",
        "| name | label on the page | edges |",
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
        "If part of a log is damaged, Runfold skips it, reads the rest, and reports a problem."
        " `runfold check` and `runs.problems()` list the problems of a log. With `strict=True`,"
        " the first problem raises an error instead, and `runfold check --strict` stops there.",
        "",
        "| code | what is wrong | what happens |",
        "|---|---|---|",
    ]
    for code, (fact, effect) in MESSAGES.items():
        text = fact.replace("{record}", "a record")
        lines.append(f"| `{code.value}` | {cell(text)} | {cell(effect)} |")
    return "\n".join(lines) + "\n"


def describe_integrations() -> str:
    """Return the reference of the adapters, derived from the public names of their modules."""
    lines = [
        "# Integrations",
        "",
        "Each module of `runfold.integrations` connects one framework to [`rf.track`](track.md)."
        " The module imports the framework, but Runfold does not install it. If the framework is"
        " missing, the import raises an `ImportError` that says what to install."
        " [Frameworks](../../guides/frameworks/index.md) has a guide for each.",
    ]
    for path in sorted(INTEGRATIONS.glob("[!_]*.py")):
        lines += ["", f"## {path.stem}"]
        for name in list_public_names(path):
            # The frameworks are not installed here, so their adapters cannot be imported.
            lines += [
                "",
                f"::: runfold.integrations.{path.stem}.{name}",
                "    options:",
                "      force_inspection: false",
                "      heading_level: 3",
            ]
    return "\n".join(lines) + "\n"


def list_public_names(path: Path) -> list[str]:
    """Return the names in `__all__` of a module, except those of its framework.

    Does not import the module.
    """
    module = ast.parse(path.read_text(encoding="utf-8"))
    (public,) = (
        ast.literal_eval(node.value)
        for node in module.body
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__"
    )
    foreign = {
        alias.asname or alias.name
        for node in ast.walk(module)
        if isinstance(node, ast.ImportFrom) and not str(node.module).startswith("runfold.")
        for alias in node.names
    }
    return [name for name in public if name not in foreign]


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
    # Keep the HTML table of each DataFrame, but not its style sheet.
    text = re.sub(r"<style scoped>.*?</style>\n?", "", text, flags=re.DOTALL)
    (folder / f"{name}.md").write_text(text, encoding="utf-8")
