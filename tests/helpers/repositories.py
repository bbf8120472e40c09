"""Real git repositories, and working trees restored from a patch."""

import os
import subprocess
from pathlib import Path

import pytest

from runfold._log.capture.code import make_patch

IDENTITY = ("-c", "user.name=A", "-c", "user.email=a@b.c", "-c", "protocol.file.allow=always")


def git(folder, *arguments):
    command = ["git", *IDENTITY, *arguments]
    done = subprocess.run(command, cwd=folder, check=True, stdout=subprocess.PIPE)
    return done.stdout.decode().strip()


def make_repository(folder, files=None):
    git(folder.parent, "init", "-q", "-b", "main", folder.name)
    write(folder, files or {"train.py": "print(1)\n", "a/model.py": "x = 1\ny = 2\n"})
    git(folder, "add", "-A")
    git(folder, "commit", "-q", "-m", "first")
    return folder


def write(folder, files):
    for name, content in files.items():
        path = os.path.join(os.fsencode(folder), os.fsencode(name))
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "wb") as file:
            file.write(content if isinstance(content, bytes) else content.encode())


def read(folder):
    files = {}
    for path in map(Path, sorted(folder.rglob("*"))):
        name = str(path.relative_to(folder))
        if path.is_file() and not name.startswith(".git" + os.sep) and name != ".git":
            files[name] = (path.read_bytes(), os.access(path, os.X_OK))
    return files


def restore(repository, code, tmp_path):
    """Return the files of a fresh clone at the recorded commit, with the recorded patch applied."""
    clone = tmp_path / "clone"
    git(tmp_path, "clone", "-q", str(repository), "clone")
    if code.commit:
        git(clone, "checkout", "-q", "--detach", code.commit)
    patch = make_patch(code).encode()
    if patch:
        command = ["git", "apply", "--whitespace=nowarn", "-"]
        subprocess.run(command, cwd=clone, check=True, input=patch)
    return read(clone)


@pytest.fixture(name="repository")
def give_repository(tmp_path, monkeypatch):
    """Create a repository with two source files and one commit, without the user's git settings."""
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", os.devnull)
    monkeypatch.setenv("GIT_CONFIG_NOSYSTEM", "1")
    return make_repository(tmp_path / "code")
