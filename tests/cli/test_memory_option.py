"""The option --memory: the same output as without it, or an error that names a sufficient limit."""

from pathlib import Path

import pytest
from helpers.odd_runs import write_odd_runs

from runfold._cli import main

COMMANDS = [
    ["table", "--csv"],
    ["compare", "--tag", "loss", "--by", "lr", "--better", "lower"],
    ["reduce", "--align", "union", "--lax-tags", "--duplicates", "last"],
    ["export"],
    ["sql", "select * from scalars"],
]


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command[0])
def test_the_output_does_not_depend_on_the_limit(
    command: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    name, *options = command
    logdir = tmp_path / "logs"
    write_odd_runs(logdir, 3)
    found = []
    for number, limit in enumerate(([], ["--memory", "200kB"])):
        out = tmp_path / f"{number}.csv"
        output = ["-o", str(out)] if name in ("reduce", "export", "sql") else []
        assert main([name, *options, "--logdir", str(logdir), *output, *limit]) == 0
        printed = capsys.readouterr()
        content = out.read_bytes() if output else b""
        found.append(
            (printed.out.replace(str(out), ""), printed.err.replace(str(out), ""), content)
        )
    assert found[0] == found[1]
    output = ["-o", str(tmp_path / "2.csv")] if name in ("reduce", "export", "sql") else []
    arguments = [name, *options, "--logdir", str(logdir), *output, "--memory", "1kB"]
    assert main(arguments) == 2
    assert "Set limit_memory (--memory) to at least " in capsys.readouterr().err
