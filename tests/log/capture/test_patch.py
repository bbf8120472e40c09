"""A clone and the recorded patch restore the working tree."""

import dataclasses
import json
import os

from helpers.repositories import git, give_repository, read, restore, write

from runfold._log.capture.code import describe_code, make_patch
from runfold._story.story_records import Code

__all__ = ["give_repository"]  # a fixture

TOKEN = "ghp_" + "a1B2" * 9


def test_a_clone_and_the_patch_restore_the_working_tree(repository, tmp_path):
    write(repository, {"gone.py": "1\n", "moved.py": "a\n" * 9, "link.py": "", "crlf.py": "a\r\n"})
    git(repository, "add", "-A")
    git(repository, "commit", "-q", "-m", "second")
    write(repository, {"a/model.py": "x = 1\ny = 3", "staged.py": "s = 1\n", "crlf.py": "b\r\n"})
    write(repository, {"new/__init__.py": "", "new/run me.sh": "#!/bin/sh\r\n\n", 'é\n\t".py': "é"})
    write(repository, {os.fsdecode(b"caf\xe9.py"): "z = 1\n", "new/conf.yaml": "lr: 1\n"})
    (repository / "new/run me.sh").chmod(0o755)
    (repository / "train.py").chmod(0o755)
    git(repository, "add", "staged.py")
    git(repository, "rm", "-q", "gone.py")
    git(repository, "mv", "moved.py", "to here.py")
    git(repository, "rm", "-q", "--cached", "link.py")
    code = describe_code(str(repository / "train.py"))
    assert code.is_dirty
    assert (code.left_out, code.masked, code.notes) == ({}, [], [])
    assert restore(repository, code, tmp_path) == read(repository)
    stored = Code(**json.loads(json.dumps(dataclasses.asdict(code))))
    assert make_patch(stored) == make_patch(code)


def test_user_settings_do_not_change_the_patch(repository, tmp_path, monkeypatch):
    settings = tmp_path / "settings"
    settings.write_text(
        "[color]\nui = always\n[core]\nquotePath = false\npager = false\n"
        "[diff]\nnoprefix = true\nmnemonicPrefix = true\nexternal = false\nrelative = true\n"
        "context = 0\nsubmodule = log\nrenames = copies\nsuppressBlankEmpty = true\n"
    )
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(settings))
    monkeypatch.setenv("GIT_DIR", str(tmp_path / "elsewhere"))
    write(repository, {"a/model.py": "x = 5\ny = 2\n", "a/é.py": "new\n"})
    code = describe_code(str(repository / "a" / "model.py"))
    monkeypatch.delenv("GIT_DIR")
    assert restore(repository, code, tmp_path) == read(repository)


def test_binary_ignored_and_other_files_are_omitted(repository):
    write(repository, {"data.bin": b"\0\1", "latin.py": "# caf\xe9\n".encode("latin-1")})
    git(repository, "add", "-A")
    git(repository, "commit", "-q", "-m", "second")
    write(repository, {"data.bin": b"\0\2", "latin.py": "# \xe9t\xe9\n".encode("latin-1")})
    write(repository, {".gitignore": "out/\n", "out/x.py": "1", "model.pt": b"1", "nul.py": b"\0"})
    (repository / "alias.py").symlink_to("train.py")
    code = describe_code(str(repository / "train.py"))
    assert code.diff == ""
    assert code.files == {}
    assert code.left_out == {
        "data.bin": "it is binary",
        "latin.py": "it is not UTF-8",
        "nul.py": "it is binary",
    }


def test_untracked_data_is_not_recorded(repository):
    small, large = "1" * 65_536, "1" * 65_537
    write(repository, {"small.json": small, "large.json": large, "labels.xml": large})
    write(repository, {"words.txt": "a", "README.md": "a", "Requirements-dev.txt": "a"})
    write(repository, {"CMakeLists.txt": "a", "conda.yaml": large})
    code = describe_code(str(repository / "train.py"))
    assert set(code.files) == {"small.json", "Requirements-dev.txt", "CMakeLists.txt", "conda.yaml"}
    assert code.left_out == dict.fromkeys(
        ("large.json", "labels.xml"), "it exceeds the limits for recorded files: 65.5 kB"
    )


def test_programs_come_before_settings_and_a_large_file_does_not_exclude_others(repository):
    write(repository, {"new.py": "1" * 60, "huge.py": "1" * 101})
    write(repository, {"a.yaml": "1" * 40, "b.yaml": "1" * 41})
    code = describe_code(str(repository / "train.py"), limit=100)
    assert set(code.files) == {"new.py", "a.yaml"}
    assert set(code.left_out) == {"huge.py", "b.yaml"}


def test_the_largest_files_are_omitted_first(repository, tmp_path):
    write(repository, {"train.py": "x\n" * 5000, "a/model.py": "x = 2\ny = 2\n"})
    write(repository, {"small.py": "s = 1\n", "large.json": "1" * 5000})
    code = describe_code(str(repository / "train.py"), limit=1000)
    assert code.left_out == {
        "train.py": "its changes are too large: 15.2 kB",
        "large.json": "it exceeds the limits for recorded files: 5.0 kB",
    }
    assert code.files == {"small.py": "s = 1\n"}
    assert restore(repository, code, tmp_path)["a/model.py"] == (b"x = 2\ny = 2\n", False)


def test_a_huge_diff_is_cut_between_files(repository, tmp_path):
    write(repository, {"a/model.py": "x = 2\ny = 2\n", "train.py": "y = 1\n" * 500_000})
    code = describe_code(str(repository / "train.py"), limit=10_000)
    assert code.left_out["train.py"] == "its changes are too large"
    assert restore(repository, code, tmp_path)["a/model.py"] == (b"x = 2\ny = 2\n", False)


def test_secrets_in_sources_are_masked_and_the_patch_still_applies(repository, tmp_path):
    key = "-----BEGIN PRIVATE KEY-----\nkey-material\n-----END PRIVATE KEY-----\n"
    write(repository, {"old.py": f"t = '{TOKEN}'\n", "a/model.py": f"x = 1\nt = '{TOKEN}'\n"})
    git(repository, "add", "old.py")
    git(repository, "commit", "-q", "-m", "second")
    write(repository, {"old.py": "t = 1\n", "new.py": "password = 'hunter2'\n", "key.py": key})
    write(repository, {"secrets.toml": "a = 1\n", "token.py": "a = 1\n", ".env": "A=1\n"})
    code = describe_code(str(repository / "train.py"))
    assert code.masked == ["a/model.py", "new.py"]
    assert code.left_out == {
        "old.py": "it contains a secret",
        "key.py": "it may contain secrets",
        "secrets.toml": "it may contain secrets",
    }
    assert not any(secret in repr(code) for secret in (TOKEN, "hunter2", "key-material"))
    restored = restore(repository, code, tmp_path)
    assert restored["a/model.py"][0] == b"x = 1\nt = '***'\n"
    assert restored["new.py"][0] == b"password = '***'\n"
    assert "token.py" in restored
