"""A run's code: commit, uncommitted changes and untracked sources, or the imported files."""

from __future__ import annotations

import os
import shutil
import stat
from collections.abc import Iterable
from dataclasses import replace

from runfold._humanize import human_bytes, human_count
from runfold._log.capture.git import Git
from runfold._log.capture.patch import add_file, find_obstacle, mask_section, read_path, split_patch
from runfold._log.capture.script_imports import trace_imports
from runfold._log.capture.source_files import (
    choose_own,
    is_data,
    is_installed,
    is_kept_secret,
    is_program,
    is_source,
    list_imported,
)
from runfold._log.masking.masking import contains_private_key, mask_source
from runfold._story.story_records import Code

_MOST_FILES = 2_000
_MOST_LISTED = 100
_LONGEST_LISTING = 16_000_000
_FILTERED = "git filters are not run"


def describe_code(script: str | None, limit: int = 1_000_000, *, is_here: bool = True) -> Code:
    """Return the code of a script's project, or of the working folder if there is no script.

    `limit` is the maximum number of bytes in the diff, and in all files together.
    `is_here` is True if this process runs the script, so that its imports are known.
    Never raises: missing parts are omitted, and `notes` gives the reasons.
    """
    try:
        return _CodeCollector(script, limit, is_here).collect()
    except Exception as error:  # a run without its code is better than no run
        return Code(notes=[f"The code was not recorded: {type(error).__name__}: {error}"])


def make_patch(code: Code) -> str:
    """Return a patch that restores the code: run `git apply` in a fresh clone at the commit."""
    executables = set(code.executables)
    added = (
        add_file(path, text, is_executable=path in executables) for path, text in code.files.items()
    )
    return "".join((code.diff, *added))


class _CodeCollector:
    """Collects the code of one run."""

    def __init__(self, script: str | None, limit: int, is_here: bool) -> None:
        self.limit = limit
        self.is_here = is_here
        self.script = os.path.abspath(script) if script and os.path.isfile(script) else None
        self.is_own = self.script is not None and not is_installed(self.script)
        self.masked: list[str] = []
        self.left_out: dict[str, str] = {}
        self.executables: list[str] = []
        self.notes: list[str] = []

    def collect(self) -> Code:
        folder = os.path.dirname(self.script) if self.script and self.is_own else os.getcwd()
        git = Git(folder)
        root = git.find_root()
        if root is None and self.script and self.is_own and os.path.islink(self.script):
            git = Git(os.path.dirname(os.path.realpath(self.script)))
            root = git.find_root()
        code = self._describe_imports(folder) if root is None else self._describe(git, root)
        if git.is_late:
            self.notes.append("git took too long; some information is missing.")
        return code

    def _describe(self, git: Git, root: str) -> Code:
        # Fast queries first, because git may run out of time for the others.
        commit, branch = git.find_commit(), git.find_branch()
        remote = git.find_remote(branch)
        diff, is_dirty = self._read_diff(git, commit)
        listing = git.list_untracked(_LONGEST_LISTING) or b""
        if len(listing) == _LONGEST_LISTING:
            self.notes.append("Too many untracked files; some were not checked.")
        paths = [os.fsdecode(path) for path in listing.split(b"\0")[:-1]]
        files = self._read_files(root, filter(is_source, paths))
        script, text = self._read_script(root)
        # Record the script even if .gitignore excludes it, because it is what ran.
        is_inside = script is not None and self.is_own and not os.path.isabs(script)
        is_new = script is not None and is_inside and script not in files
        if script and text is not None and is_new and not git.is_tracked(script):
            files[script] = text
        return replace(
            self._begin(script, text),
            root=root,
            commit=commit,
            branch=branch,
            remote=remote,
            is_dirty=is_dirty,
            diff=diff,
            files=files,
        )

    def _describe_imports(self, folder: str) -> Code:
        has_git = shutil.which("git") is not None
        self.notes.append("There is no git repository." if has_git else "git is not installed.")
        # For `python -m package.train`, the project is the working folder.
        root, here = os.path.realpath(folder), os.path.realpath(os.getcwd())
        root = here if root.startswith(here.rstrip(os.sep) + os.sep) else root
        imported: Iterable[str] = list_imported() if self.is_here else ()
        if not self.is_here and self.script and self.is_own:
            imported = trace_imports(self.script, [root])
        files = self._read_files(root, choose_own(imported, root))
        script, text = self._read_script(root)
        if script and text is not None and self.is_own:
            files.setdefault(script, text)
        return replace(self._begin(script, text), root=root, files=files)

    def _begin(self, script: str | None, text: str | None) -> Code:
        listed = dict(list(self.left_out.items())[:_MOST_LISTED])
        if len(self.left_out) > _MOST_LISTED:
            more = human_count(len(self.left_out) - _MOST_LISTED, "more file")
            self.notes.append(f"{more} omitted.")
        return Code(
            script=script,
            script_text=text,
            executables=self.executables,
            masked=sorted(set(self.masked)),
            left_out=listed,
            notes=self.notes,
        )

    def _read_diff(self, git: Git, commit: str | None) -> tuple[str, bool | None]:
        most = 8 * self.limit + 1_000_000
        answer = git.diff(commit, most)
        if answer is None:
            self.notes.append("The uncommitted changes could not be read.")
            return "", None
        changed, sections = split_patch(answer)
        if len(answer) == most and sections:
            sections.pop()  # truncated
        self.left_out |= dict.fromkeys(changed, "its changes are too large")
        filtered = git.find_filtered(changed)
        if filtered is None:
            self.notes.append("The uncommitted changes could not be read.")
            return "", None
        self.left_out |= dict.fromkeys(filtered, _FILTERED)
        chosen: dict[int, str] = {}
        total = 0
        for index in sorted(range(len(sections)), key=lambda index: len(sections[index])):
            path = read_path(sections[index])
            if path in filtered:
                continue
            total += len(sections[index])
            text = self._check_section(path, sections[index], is_fitting=total <= self.limit)
            if text is not None:
                chosen[index] = text
        # Only the filter itself could tell whether a filtered file has changed.
        is_dirty = None if filtered and filtered >= set(changed) else bool(changed)
        return "".join(chosen[index] for index in sorted(chosen)), is_dirty

    def _check_section(self, path: str, section: bytes, *, is_fitting: bool) -> str | None:
        reason = find_obstacle(section)
        if reason is None and not is_fitting:
            reason = f"its changes are too large: {human_bytes(len(section))}"
        if reason is None and is_kept_secret(path):
            reason = "it may contain secrets"
        if reason is None:
            text = section.decode()
            masked = mask_section(text, path)
            if masked is not None:
                self.masked += [path] if masked != text else []
                self.left_out.pop(path, None)
                return masked
            reason = "it contains a secret"
        self.left_out[path] = reason
        return None

    def _read_files(self, root: str, paths: Iterable[str]) -> dict[str, str]:
        sizes: dict[str, int] = {}
        for path in paths:
            try:
                status = os.lstat(os.path.join(root, path))
            except (OSError, ValueError):
                continue
            if stat.S_ISREG(status.st_mode):
                sizes[path] = status.st_size
        files: dict[str, str] = {}
        total = 0
        # Read small programs first, because there may be thousands of label files.
        for path in sorted(sizes, key=lambda path: (not is_program(path), sizes[path], path)):
            if (
                is_data(path, sizes[path])
                or total + sizes[path] > self.limit
                or len(files) >= _MOST_FILES
            ):
                self.left_out[path] = (
                    f"it exceeds the limits for recorded files: {human_bytes(sizes[path])}"
                )
                continue
            text = self._read_text(root, path)
            if text is not None:
                files[path] = text
                total += sizes[path]
                if os.access(os.path.join(root, path), os.X_OK):
                    self.executables.append(path)
        return dict(sorted(files.items()))

    def _read_text(self, root: str, path: str) -> str | None:
        try:
            with open(os.path.join(root, path), "rb") as file:
                content = file.read(self.limit + 1)
            text = content.decode()
        except UnicodeDecodeError:
            self.left_out[path] = "it is not UTF-8"
            return None
        except OSError as error:
            self.left_out[path] = f"it cannot be read: {error.strerror}"
            return None
        if len(content) > self.limit:
            self.left_out[path] = "it is too large"
        elif "\0" in text:
            self.left_out[path] = "it is binary"
        elif contains_private_key(text) or is_kept_secret(path):
            self.left_out[path] = "it may contain secrets"
        else:
            masked = mask_source(text, path)
            self.masked += [path] if masked != text else []
            return masked
        return None

    def _read_script(self, root: str) -> tuple[str | None, str | None]:
        if self.script is None:
            return None, None
        path = os.path.relpath(os.path.realpath(self.script), os.path.realpath(root))
        if path.startswith(os.pardir + os.sep):
            path = self.script
        # `left_out` covers only the diff and the files; the script may be in the commit.
        left_out = self.left_out.copy()
        text = self._read_text(root, path)
        if text is None:
            self.notes.append(f"The script's text was omitted: {self.left_out[path]}.")
        self.left_out = left_out
        return path.replace(os.sep, "/"), text
