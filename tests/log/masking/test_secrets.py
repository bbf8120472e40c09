"""A value that has appeared once under a secret's name is masked everywhere."""

import subprocess
import sys

import pytest
from helpers.repositories import git, give_repository, restore, write

import runfold as rf
from runfold._log.capture.code import describe_code
from runfold._log.masking import secret_names as secrets
from runfold._log.masking.masking import mask_arguments, mask_output, mask_source, mask_text

__all__ = ["give_repository"]  # a fixture

KEY = "correct-horse-1"


@pytest.fixture(autouse=True)
def known(monkeypatch):
    """Start with no known secrets, and keep none for later tests."""
    monkeypatch.setattr(secrets.known, "values", ())
    return secrets.known


def test_a_known_value_is_masked_by_every_function(known):
    known.learn({"DB_PASSWORD": f" {KEY}\n"})
    assert mask_text(f"a {KEY}b") == "a ***b"
    assert mask_output(f"login with {KEY}\n") == "login with ***\n"
    assert mask_source(f"login('{KEY}')\n", "a.py") == "login('***')\n"
    assert mask_arguments(["a.py", KEY, f"-x{KEY}"]) == ["a.py", "***", "-x***"]


def test_the_longer_of_two_overlapping_secrets_is_masked_completely(known):
    known.learn({"password": KEY, "api_key": [f"{KEY}-and-more", "x"]})
    assert mask_text(f"{KEY}-and-more {KEY}") == "*** ***"


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("lr", KEY),
        ("password", "short1!"),
        ("DB_PASSWORD", "postgres"),
        ("PASSWORD", "Changeme"),
        ("key", "val/loss"),
        ("key", "val/top5-error"),
        ("token", "input_ids"),
        ("password", "***masked***"),
        ("use_auth_token", True),
        ("password", 12345678),
        ("GOOGLE_APPLICATION_CREDENTIALS", sys.executable),
    ],
)
def test_common_values_are_not_learnt(known, name, value):
    known.learn({name: value})
    assert known.values == ()


def test_nested_secrets_are_learnt(known):
    known.learn(
        {"db": [{"credentials": {"user": "someone-7", "ids": [KEY]}}], "MY_TOKEN": "a1" * 4}
    )
    assert set(known.values) == {"someone-7", KEY, "a1a1a1a1"}


def test_a_patch_with_a_known_value_still_applies(repository, tmp_path, known):
    write(repository, {"old.py": f"a = '{KEY}'\nb = 1\n", "train.py": "print(1)\nc = 1\n"})
    git(repository, "add", "-A")
    git(repository, "commit", "-q", "-m", "second")
    known.learn({"password": KEY})
    write(repository, {"old.py": f"a = '{KEY}'\nb = 2\n", "train.py": f"print(1)\nc = '{KEY}'\n"})
    code = describe_code(str(repository / "train.py"))
    assert code.left_out == {"old.py": "it contains a secret"}
    assert code.masked == ["train.py"]
    assert restore(repository, code, tmp_path)["train.py"] == (b"print(1)\nc = '***'\n", False)


def test_no_byte_of_a_run_contains_a_secret_from_its_environment_or_settings(tmp_path):
    (tmp_path / "train.py").write_text(
        "import os, sys, runfold as rf\n"
        "settings = {'password': os.environ['GIVEN'], 'note': os.environ['MY_SECRET']}\n"
        "with rf.track('run', config=settings, output=True, system=False) as run:\n"
        "    print('python', *sys.argv, os.environ['MY_SECRET'], flush=True)\n"
        "    os.environ['LATE_TOKEN_SECRET'] = 'late-late-' + str(9)\n"
        "    os.system('echo child $GIVEN $MY_SECRET $LATE_TOKEN_SECRET')\n"
        f"    raise ValueError('{KEY}' + os.environ['GIVEN'])\n"
    )
    given = {"GIVEN": "a-horse-2", "MY_SECRET": KEY, "PATH": "/usr/bin:/bin"}
    done = subprocess.run(
        [sys.executable, "train.py", "--note", KEY],
        cwd=tmp_path,
        env=given | {"PYTHONPATH": ":".join(sys.path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout == f"python train.py --note {KEY} {KEY}\nchild a-horse-2 {KEY} late-late-9\n"
    run = rf.open(tmp_path)["run"]
    assert run.status.state == "failed"
    assert run.output == "python train.py --note *** ***\nchild *** *** ***\n"
    every_byte = b"".join(path.read_bytes() for path in (tmp_path / "run").glob("*tfevents*"))
    for secret in (KEY, "a-horse-2", "late-late-9"):
        assert secret.encode() not in every_byte
