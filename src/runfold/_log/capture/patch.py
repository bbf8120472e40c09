"""Git patches: one section per file, with unusual paths quoted."""

from __future__ import annotations

import os
import re

from runfold._log.masking.masking import contains_private_key, mask_source

_SECTION = re.compile(rb"^(?=diff --git )", re.MULTILINE)
_UNMERGED = re.compile(rb"^\* Unmerged path .*\n", re.MULTILINE)
_BINARY = re.compile(rb"^Binary files .* differ$", re.MULTILINE)
_SUBMODULE = re.compile(rb"^[-+]Subproject commit ([0-9a-f]+)", re.MULTILINE)
_PLAIN_PATH = re.compile(r"[A-Za-z0-9_./+@%=,-]+")


def split_patch(answer: bytes) -> tuple[list[str], list[bytes]]:
    """Return the changed paths and the per-file sections of `git diff --patch-with-raw`."""
    raw, *sections = _SECTION.split(_UNMERGED.sub(b"", answer))
    lines = [line for line in raw.split(b"\n") if line.startswith(b":")]
    return [unquote(line.partition(b"\t")[2]) for line in lines], sections


def find_obstacle(section: bytes) -> str | None:
    """Return the reason why a section cannot be stored as text, or None if it can."""
    if _BINARY.search(section):
        return "it is binary"
    if commits := _SUBMODULE.findall(section):
        return f"it is a submodule, at commit {commits[-1].decode()}"
    try:
        section.decode()
    except UnicodeDecodeError:
        return "it is not UTF-8"
    return None


def add_file(path: str, text: str, *, is_executable: bool) -> str:
    """Return a section that creates a file."""
    old, new = quote(f"a/{path}"), quote(f"b/{path}")
    mode = "100755" if is_executable else "100644"
    parts = [f"diff --git {old} {new}\nnew file mode {mode}\n"]
    if not text:
        return parts[0] + f"index {'0' * 40}..e69de29bb2d1d6434b8b29ae775ad8c2e48c5391\n"
    lines = text.removesuffix("\n").split("\n")
    parts.append(f"--- /dev/null\n+++ {new}\n@@ -0,0 +1,{len(lines)} @@\n")
    parts += [f"+{line}\n" for line in lines]
    if not text.endswith("\n"):
        parts.append("\\ No newline at end of file\n")
    return "".join(parts)


def mask_section(section: str, path: str) -> str | None:
    """Return a section with its secrets masked, or None if that would break the patch.

    Only added lines can be masked: if context or removed lines differ from the
    commit, the patch does not apply.
    """
    if contains_private_key(section):
        return None
    if mask_source(section, path) == section:
        return section
    header, mark, hunks = section.partition("\n@@ ")
    lines: list[str] = []
    for line in hunks.split("\n"):
        masked = line[:1] + mask_source(line[1:], path)
        if masked != line and not line.startswith("+"):
            return None
        lines.append(masked)
    return header + mark + "\n".join(lines)


def read_path(section: bytes) -> str:
    """Return the path in `diff --git a/PATH b/PATH`; without renames, both are the same."""
    names = section.partition(b"\n")[0].removeprefix(b"diff --git ")
    half = names[: len(names) // 2]
    return unquote(half).removeprefix("a/")


def unquote(name: bytes) -> str:
    """Return the real path for a path that git printed."""
    if name.startswith(b'"') and name.endswith(b'"'):
        name = name[1:-1].decode("unicode_escape").encode("latin-1")
    return os.fsdecode(name)


def quote(path: str) -> str:
    """Return a path quoted for git."""
    if _PLAIN_PATH.fullmatch(path):
        return path
    plain = range(32, 127)
    quoted = "".join(
        chr(byte) if byte in plain and byte not in b'"\\' else f"\\{byte:03o}"
        for byte in os.fsencode(path)
    )
    return f'"{quoted}"'
