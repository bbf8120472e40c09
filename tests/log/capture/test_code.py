"""Recording the code of a script, with and without a repository."""

import json
import os
import shutil
import subprocess
import sys
import sysconfig

import pytest
from helpers.repositories import (
    IDENTITY,
    git,
    give_repository,
    make_repository,
    read,
    restore,
    write,
)

from runfold._log.capture.code import describe_code, make_patch
from runfold._story.story_records import Code

__all__ = ["give_repository"]  # a fixture


def test_a_clean_repository(repository):
    git(repository, "remote", "add", "origin", "https://me:hunter2@host/me/code.git")
    script = str(repository / "train.py")
    assert describe_code(script) == Code(
        root=str(repository),
        commit=git(repository, "rev-parse", "HEAD"),
        branch="main",
        remote="https://host/me/code.git",
        is_dirty=False,
        script="train.py",
        script_text="print(1)\n",
    )


def test_a_repository_without_commits(repository, tmp_path):
    folder = tmp_path / "empty"
    git(tmp_path, "init", "-q", "-b", "main", "empty")
    write(folder, {"train.py": "print(1)\n", "staged.py": "s = 1\n"})
    git(folder, "add", "staged.py")
    code = describe_code(str(folder / "train.py"))
    assert (code.commit, code.branch, code.remote, code.is_dirty) == (None, "main", None, True)
    assert list(code.files) == ["train.py"]
    assert restore(folder, code, tmp_path) == read(folder)


def test_a_worktree_a_detached_head_and_a_merge_conflict(repository, tmp_path):
    git(repository, "worktree", "add", "-q", "--detach", str(tmp_path / "tree"))
    write(tmp_path / "tree", {"train.py": "print(2)\n"})
    code = describe_code(str(tmp_path / "tree" / "train.py"))
    assert (code.root, code.branch) == (str(tmp_path / "tree"), None)
    assert restore(repository, code, tmp_path)["train.py"] == (b"print(2)\n", False)
    git(tmp_path / "tree", "commit", "-q", "-a", "-m", "other")
    write(repository, {"train.py": "print(3)\n"})
    git(repository, "commit", "-q", "-a", "-m", "ours")
    other = git(tmp_path / "tree", "rev-parse", "HEAD")
    subprocess.run(["git", *IDENTITY, "merge", "-q", other], cwd=repository, capture_output=True)
    code = describe_code(str(repository / "train.py"))
    shutil.rmtree(tmp_path / "clone")
    assert restore(repository, code, tmp_path) == read(repository)


def test_a_submodule_and_the_repository_around_it(repository, tmp_path):
    make_repository(tmp_path / "part", {"part.py": "p = 1\n"})
    git(repository, "submodule", "--quiet", "add", str(tmp_path / "part"), "part")
    git(repository, "commit", "-q", "-a", "-m", "with part")
    write(repository / "part", {"part.py": "p = 2\n"})
    inner = describe_code(str(repository / "part" / "part.py"))
    assert (inner.root, inner.script) == (str(repository / "part"), "part.py")
    assert restore(tmp_path / "part", inner, tmp_path) == read(repository / "part")
    outer = describe_code(str(repository / "train.py"))
    commit = git(repository / "part", "rev-parse", "HEAD")
    assert outer.left_out == {"part": f"it is a submodule, at commit {commit}"}
    assert outer.diff == ""


def test_another_users_folder_is_read_without_running_programs(repository, tmp_path, monkeypatch):
    trace = tmp_path / "trace"
    write(
        repository,
        {
            ".gitattributes": "train.py filter=evil=x\n",
            "train.py": "print(7)\n",
            "a/model.py": "x = 7\ny = 2\n",
        },
    )
    git(repository, "config", "filter.evil=x.clean", f"touch {trace}; cat")
    git(repository, "config", "core.fsmonitor", f"touch {trace}")
    # This variable is for git's own tests. Without it, only root could create such a folder.
    program = tmp_path / "bin" / "git"
    write(
        program.parent,
        {
            "git": f"""#!/bin/sh
GIT_TEST_ASSUME_DIFFERENT_OWNER=1 exec {shutil.which("git")} "$@"
"""
        },
    )
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(program.parent), prepend=os.pathsep)
    refused = subprocess.run(["git", "status"], cwd=repository, capture_output=True)
    assert b"dubious ownership" in refused.stderr
    code = describe_code(str(repository / "train.py"))
    assert "+x = 7" in code.diff
    assert code.left_out["train.py"] == "git filters are not run"
    assert not trace.exists()


@pytest.mark.parametrize("location", ["local", "included", "worktree", "user's", "submodule"])
@pytest.mark.parametrize("kind", ["clean", "process"])
def test_no_filter_is_run(repository, tmp_path, monkeypatch, location, kind):
    trace = tmp_path / "trace"
    inner = repository
    if location == "submodule":
        make_repository(tmp_path / "part", {"train.py": "print(1)\n"})
        git(repository, "submodule", "--quiet", "add", str(tmp_path / "part"), "part")
        git(repository, "commit", "-q", "-a", "-m", "with part")
        inner = repository / "part"
    config = repository.parent / "more.config"
    where = {
        "included": ["--file", str(config)],
        "worktree": ["--worktree"],
        "user's": ["--file", str(config)],
    }.get(location, [])
    if location == "included":
        git(repository, "config", "include.path", str(config))
    if location == "worktree":
        git(repository, "config", "extensions.worktreeConfig", "true")
    if location == "user's":
        monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(config))
    git(inner, "config", *where, f"filter.evil.{kind}", f"touch {trace}; cat")
    git(inner, "config", *where, "filter.evil.required", "true")
    # The file has the same size as before, so that git has to read its content.
    write(inner, {".gitattributes": "train.py filter=evil\n", "train.py": "print(7)\n"})
    os.utime(inner / "train.py", (1, 1))
    subprocess.run(["git", "diff", "HEAD"], cwd=repository, capture_output=True)
    assert trace.exists()  # git itself runs the filter
    trace.unlink()
    code = describe_code(str(repository / "train.py"))
    assert not trace.exists()
    if location == "submodule":
        assert list(code.left_out) == ["part"]
        return
    assert code.left_out == {"train.py": "git filters are not run"}
    assert (code.diff, code.is_dirty, code.script_text) == ("", None, "print(7)\n")
    write(repository, {"a/model.py": "x = 7\n"})
    code = describe_code(str(repository / "train.py"))
    assert ("train.py" in code.diff, "+x = 7" in code.diff, code.is_dirty) == (False, True, True)


def test_without_git_the_imported_sources_are_kept(tmp_path):
    folder = tmp_path / "project"
    write(
        folder,
        {
            "train.py": "import helper, package.part, json, numpy\n"
            "from runfold._log.capture.code import *\nimport dataclasses, sys\n"
            "code = describe_code(sys.argv[0])\nprint(json.dumps(dataclasses.asdict(code)))\n",
            "helper.py": "h = 1\n",
            "package/__init__.py": "",
            "package/part.py": "p = 1\n",
            "unused.py": "u = 1\n",
        },
    )
    environment = os.environ | {"GIT_CEILING_DIRECTORIES": str(tmp_path)}
    for path, note in ((os.environ["PATH"], "There is no git repository."), ("", "git is not")):
        command = [sys.executable, str(folder / "train.py")]
        done = subprocess.run(
            command, env=environment | {"PATH": path}, check=True, stdout=subprocess.PIPE
        )
        code = Code(**json.loads(done.stdout))
        assert list(code.files) == [
            "helper.py",
            "package/__init__.py",
            "package/part.py",
            "train.py",
        ]
        assert (code.root, code.script, code.commit) == (str(folder), "train.py", None)
        assert code.notes[0].startswith(note)
    (tmp_path / "empty").mkdir()
    command = ["git", "apply", "-"]
    subprocess.run(command, cwd=tmp_path / "empty", check=True, input=make_patch(code).encode())
    (folder / "unused.py").unlink()
    shutil.rmtree(folder / "__pycache__", ignore_errors=True)
    shutil.rmtree(folder / "package" / "__pycache__", ignore_errors=True)
    assert read(tmp_path / "empty") == read(folder)


def test_a_hanging_git_is_killed_and_the_commit_is_recorded(repository, tmp_path, monkeypatch):
    git(repository, "remote", "add", "origin", "/elsewhere")
    write(repository, {"train.py": "print(2)\n"})
    # On a network disk, git can hang forever.
    program = tmp_path / "bin" / "git"
    hang = 'if [ "$1" = diff ]; then read line < hangs; fi'
    write(program.parent, {"git": f'#!/bin/sh\n{hang}\nexec {shutil.which("git")} "$@"\n'})
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(program.parent), prepend=os.pathsep)
    os.mkfifo(repository / "hangs")
    monkeypatch.setattr("runfold._log.capture.git._SECONDS", 2.0)
    code = describe_code(str(repository / "train.py"))
    assert (code.branch, code.remote, code.is_dirty) == ("main", "/elsewhere", None)
    assert (code.diff, code.files, code.script_text) == ("", {}, "print(2)\n")
    assert len(code.notes) == 2


def test_an_ignored_script_a_missing_script_and_no_script(repository, monkeypatch):
    write(repository, {".gitignore": "try.py\n", "try.py": "t = 1\n"})
    assert describe_code(str(repository / "try.py")).files == {"try.py": "t = 1\n"}
    monkeypatch.chdir(repository)
    commit = git(repository, "rev-parse", "HEAD")
    command = os.path.join(sysconfig.get_path("scripts"), "pytest")
    for script in (None, "", "-c", "gone.py", "a\0b", command):
        code = describe_code(script)
        assert (code.root, code.commit) == (str(repository), commit)
        assert code.files == {}
