"""The private name of a user's servers is stored where only the user can read it."""

import os
from pathlib import Path

import pytest

from runfold._serve.http.access import Access
from runfold._serve.http.token_files import load_private_name


@pytest.fixture(autouse=True)
def kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    return tmp_path / "runfold" / "serve" / "name"


def test_the_name_is_private_and_the_same_at_each_start(kept: Path) -> None:
    name = load_private_name()
    assert load_private_name() == name == kept.read_text()
    assert kept.stat().st_mode & 0o777 == 0o600
    assert Access(name=name).answers_to(f"{name}:6006")


@pytest.mark.parametrize("content", ["", "evil.example", "a.localhost", "x" * 100_000])
def test_an_invalid_name_is_replaced(kept: Path, content: str) -> None:
    kept.parent.mkdir(parents=True)
    kept.write_text(content)
    name = load_private_name()
    assert name.endswith(".localhost")
    assert name != content
    assert load_private_name() == name


def test_a_name_that_cannot_be_stored_is_new_each_time(kept: Path) -> None:
    kept.parent.parent.parent.joinpath("runfold").write_text("a file where the folder would be")
    first, second = load_private_name(), load_private_name()
    assert first != second
    assert not os.path.exists(kept)
