"""`runfold restore`: its patch and commands restore the code with git."""

import os
import subprocess
from dataclasses import asdict
from pathlib import Path

import pytest
from helpers.cli_runs import run_apart
from helpers.logs import values, write

from runfold._log.capture.code import describe_code
from runfold._story.story_parts import CODE, DIFF, FILES
from runfold._story.story_parts import encode_story as part
from runfold._story.story_records import Code

UNTRACKED = {"new.py": "print('new')\n", "sub/no newline.cfg": "naïve"}


def git(folder: Path, *args: str) -> str:
    identity = ["-c", "user.name=t", "-c", "user.email=t@example.org", "-c", "commit.gpgsign=false"]
    done = subprocess.run(
        ["git", *identity, *args], cwd=folder, capture_output=True, text=True, check=True
    )
    return done.stdout


def make_project(folder: Path) -> Code:
    """Create a project with a commit, changes and new files, and then a later commit."""
    folder.mkdir()
    git(folder, "init", "-q")
    git(folder, "remote", "add", "origin", "https://example.org/p.git")
    (folder / "train.py").write_text("lr = 1\n")
    git(folder, "add", ".")
    git(folder, "commit", "-qm", "first")
    (folder / "train.py").write_text("lr = 2\n")
    (folder / "sub").mkdir()
    for name, content in UNTRACKED.items():
        (folder / name).write_text(content)
    (folder / "new.py").chmod(0o755)
    code = describe_code(str(folder / "train.py"))
    git(folder, "clean", "-dfq")
    (folder / "train.py").write_text("lr = 3\n")
    git(folder, "commit", "-qam", "later")
    return code


def track(folder: Path, code: dict[str, object], diff: str = "", **files: str) -> None:
    write(folder, values(part(CODE, code), part(DIFF, diff), part(FILES, files)))


def code_facts(code: Code) -> dict[str, object]:
    """Return the recorded facts about the code, without the diff and the files."""
    return {key: value for key, value in asdict(code).items() if key not in ("diff", "files")}


def test_printed_commands_restore_the_code(tmp_path: Path) -> None:
    project = tmp_path / "project"
    code = make_project(project)
    track(tmp_path / "runs" / "it's 1", code_facts(code), code.diff, **code.files)
    done = run_apart("restore", "runs", "it's 1", cwd=tmp_path)
    assert done.returncode == 0
    assert done.stderr == "In the top-level folder of a clone of https://example.org/p.git:\n"
    assert done.stdout == f"git checkout {code.commit} && git apply {tmp_path / 'it-s-1.patch'}\n"
    subprocess.run(["bash", "-ec", done.stdout], cwd=project, capture_output=True, check=True)
    found = {name: (project / name).read_text() for name in ("train.py", *UNTRACKED)}
    assert found == {"train.py": "lr = 2\n", **UNTRACKED}
    assert os.access(project / "new.py", os.X_OK)


def test_code_without_git_is_restored(tmp_path: Path) -> None:
    track(tmp_path / "a", {"commit": None}, **UNTRACKED)
    done = run_apart("restore", "a", "-o", "out dir/x.patch", cwd=tmp_path)
    assert done.returncode == 0
    assert done.stderr == "The run records no commit. To restore its code in a new folder:\n"
    assert done.stdout == f"git init && git apply '{tmp_path}/out dir/x.patch'\n"
    folder = tmp_path / "new"
    folder.mkdir()
    subprocess.run(["bash", "-ec", done.stdout], cwd=folder, capture_output=True, check=True)
    assert {name: (folder / name).read_text() for name in UNTRACKED} == UNTRACKED


def test_clean_code_needs_no_patch(tmp_path: Path) -> None:
    track(tmp_path / "a", {"commit": "abc1234"})
    done = run_apart("restore", "a", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (0, "git checkout abc1234\n")
    assert done.stderr.splitlines() == [
        "In the top-level folder of a clone of the project:",
        "The run does not record a URL to clone the project from.",
        "All of the code was committed, so there is no patch.",
    ]
    assert [path.name for path in tmp_path.iterdir()] == ["a"]


def test_missing_files_are_listed(tmp_path: Path) -> None:
    code = {"commit": "abc1234", "remote": "r", "is_dirty": True, "masked": ["api.py"]}
    code |= {"left_out": {"data.json": "it is too large"}, "notes": ["git took too long."]}
    track(tmp_path / "a", code)
    done = run_apart("restore", "a", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (0, "git checkout abc1234\n")
    assert done.stderr.splitlines() == [
        "In the top-level folder of a clone of r:",
        "Not in the log, so not restored: data.json (it is too large).",
        "Secrets are masked as '***' in api.py.",
        "git took too long.",
    ]


def test_an_existing_file_is_kept(tmp_path: Path) -> None:
    track(tmp_path / "a", {"commit": "abc1234", "remote": "r"}, **UNTRACKED)
    patch = tmp_path / "a.patch"
    patch.write_text("mine")
    done = run_apart("restore", "a", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("a.patch already exists. Use --overwrite")
    assert patch.read_text() == "mine"
    assert run_apart("restore", "a", "-f", cwd=tmp_path).returncode == 0
    assert "print('new')" in patch.read_text()


@pytest.mark.parametrize("commit", ["$(reboot)", "--upload-pack=x", "\x1b[31m", 7, None])
def test_a_value_that_is_not_a_commit_is_never_printed(tmp_path: Path, commit: object) -> None:
    track(tmp_path / "a", {"commit": commit, "remote": "r"}, **UNTRACKED)
    done = run_apart("restore", "a", cwd=tmp_path)
    assert (done.returncode, done.stdout[:8]) == (0, "git init")
    assert "\x1b" not in done.stdout + done.stderr
    assert "reboot" not in done.stdout


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["a"], "a has no recorded code. `rf.track` and `runfold run` record it."),
        ([".", "b"], "No run 'b' in '.'. `runfold ls .` lists them."),
        ([".", "a", "b"], "Expected a run folder, or a logdir and a run."),
        (["./b"], "No logdir './b'."),
    ],
)
def test_errors_are_one_line(args: list[str], message: str, tmp_path: Path) -> None:
    write(tmp_path / "a")
    done = run_apart("restore", *args, cwd=tmp_path)
    assert (done.returncode, done.stdout, done.stderr) == (2, "", message + "\n")
