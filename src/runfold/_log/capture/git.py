"""Queries to the git command, which can be missing, fail or take too long."""

from __future__ import annotations

import os
import signal
import subprocess
import threading
import time
from typing import TYPE_CHECKING

from runfold._log.masking.masking import mask_text

if TYPE_CHECKING:
    from collections.abc import Sequence

_SECONDS = 10.0  # timeout for all queries together
_LONGEST_LISTING = 16_000_000
_MOST_PATHS = 500  # per query
_MOST_NESTED = 5  # submodules within submodules
_SUBMODULE = b"160000 "  # the mode of a submodule in the index
_KEPT = (
    *("GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM", "GIT_CONFIG_NOSYSTEM", "GIT_EXEC_PATH"),
    *("GIT_CEILING_DIRECTORIES", "GIT_DISCOVERY_ACROSS_FILESYSTEM"),
)
# The repository's own settings must not run programs or change the output format.
_SETTINGS = {
    "core.fsmonitor": "false",
    "core.hooksPath": os.devnull,
    "core.quotePath": "true",
    "diff.noprefix": "false",
    "diff.mnemonicPrefix": "false",
    "diff.suppressBlankEmpty": "false",
}
_DIFF = (
    *("diff", "--patch-with-raw", "--full-index", "--no-color", "--no-ext-diff", "--no-textconv"),
    *("--no-renames", "--no-relative", "--submodule=short"),
    *("--src-prefix=a/", "--dst-prefix=b/", "--unified=3", "--inter-hunk-context=0"),
)


class Git:
    """Queries about the repository that contains a folder. They return None on failure."""

    def __init__(self, folder: str) -> None:
        self.folder = folder
        self.is_late = False
        self.ends = time.monotonic() + _SECONDS
        self.settings = dict(_SETTINGS)
        # git would run programs from a submodule's own settings when it reads the submodule.
        self._reads_submodules = True

    def find_root(self) -> str | None:
        """Return the top of the working tree, and use it for later queries."""
        answer = self.query("rev-parse", "--show-toplevel")
        if not answer:
            # git rejects a folder owned by another user, because its settings can run programs.
            # Such folders are common in containers, where they are mounted from outside.
            self.settings["safe.directory"] = "*"
            answer = self.query("rev-parse", "--show-toplevel")
        if not answer:
            return None
        self.folder = os.fsdecode(answer.removesuffix(b"\n"))
        return self.folder if self._disarm(self.folder, _MOST_NESTED) else None

    def find_commit(self) -> str | None:
        """Return the current commit, or None before the first commit."""
        return _line(self.query("rev-parse", "--verify", "--quiet", "HEAD^{commit}"))

    def find_branch(self) -> str | None:
        """Return the current branch, or None for a detached HEAD."""
        return _line(self.query("symbolic-ref", "--quiet", "--short", "HEAD"))

    def find_remote(self, branch: str | None) -> str | None:
        """Return the URL of the branch's remote, or else of `origin`, without credentials."""
        pattern = r"^(remote\..*\.url|branch\..*\.remote)$"
        # `remote get-url` would apply `insteadOf`, which often contains tokens.
        answer = os.fsdecode(self.query("config", "-z", "--get-regexp", pattern) or b"")
        settings: dict[str, str] = {}
        for entry in answer.split("\0"):
            name, _, value = entry.partition("\n")
            settings.setdefault(name, value)
        for remote in (settings.get(f"branch.{branch}.remote"), "origin"):
            if url := settings.get(f"remote.{remote}.url"):
                break
        else:
            urls = (value for name, value in settings.items() if name.endswith(".url"))
            url = next(urls, "")
        return mask_text(url).replace("://***@", "://") or None

    def diff(self, commit: str | None, most: int) -> bytes | None:
        """Return the changes since a commit; None means all files. Raw lines come before patches.

        The result is truncated to `most` bytes.
        """
        # The hash of the empty tree depends on the repository's hash function.
        base = commit or _line(self.query("hash-object", "-t", "tree", "--stdin"))
        if not base:
            return None
        ignored = "untracked" if self._reads_submodules else "dirty"
        return self.query(*_DIFF, f"--ignore-submodules={ignored}", base, "--", most=most)

    def find_filtered(self, paths: Sequence[str]) -> set[str] | None:
        """Return the paths with a filter that was not run, or None if git fails."""
        filters = {name.split(".", 1)[1].rpartition(".")[0] for name in self._filters()}
        filtered: set[str] = set()
        for start in range(0, len(paths) if filters else 0, _MOST_PATHS):
            batch = paths[start : start + _MOST_PATHS]
            answer = self.query("check-attr", "-z", "filter", "--", *batch, most=_LONGEST_LISTING)
            if answer is None:
                return None
            fields = [os.fsdecode(field) for field in answer.split(b"\0")]
            values = zip(fields[::3], fields[2::3], strict=False)
            filtered |= {path for path, value in values if value in filters}
        return filtered

    def list_untracked(self, most: int) -> bytes | None:
        """Return the untracked files that are not ignored, NUL-terminated, up to `most` bytes."""
        return self.query("ls-files", "--others", "--exclude-standard", "-z", most=most)

    def is_tracked(self, path: str) -> bool:
        """Whether git tracks a file, given its path below the root; True if git fails."""
        return self.query("ls-files", "--cached", "-z", "--", path) != b""

    def query(
        self, *arguments: str, most: int = 1_000_000, folder: str | None = None
    ) -> bytes | None:
        """Return up to `most` bytes of git's output, or None if git fails or takes too long."""
        left = self.ends - time.monotonic()
        if left <= 0:
            self.is_late = True
            return None
        try:
            process = subprocess.Popen(
                ["git", *arguments],
                cwd=folder or self.folder,
                env=self._environment(),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                start_new_session=True,  # so that a hanging filter can be killed too
            )
        except (OSError, ValueError):  # git or the folder does not exist
            return None
        timer = threading.Timer(left, self._stop, [process])
        timer.daemon = True
        timer.start()
        try:
            with process:
                assert process.stdout is not None
                answer = process.stdout.read(most)
                if len(answer) == most:
                    _kill(process)
        finally:
            timer.cancel()
        is_whole = process.returncode in (0, 1)  # 1: no matches
        return answer if is_whole or len(answer) == most else None

    def _stop(self, process: subprocess.Popen[bytes]) -> None:
        self.is_late = True
        _kill(process)

    def _filters(self) -> list[str]:
        return [name for name in self.settings if name.startswith("filter.")]

    def _disarm(self, folder: str, most_nested: int) -> bool:
        """Disable all filters in a repository and its submodules; return False if git fails.

        The repository's author chose these programs. Even a filter in the user's own
        settings, such as git-lfs, can run programs named by the repository.
        """
        command = ("config", "--includes", "-z", "--name-only", "--get-regexp", r"^filter\.")
        answer = self.query(*command, folder=folder)
        if answer is None:
            return False
        for name in filter(None, os.fsdecode(answer).split("\0")):
            self.settings[name] = "false" if name.endswith(".required") else ""
        listing = self.query("ls-files", "--stage", "-z", folder=folder, most=_LONGEST_LISTING)
        if listing is None or len(listing) == _LONGEST_LISTING or not most_nested:
            self._reads_submodules = False
            return True
        for entry in listing.split(b"\0"):
            if entry.startswith(_SUBMODULE):
                inner = os.path.join(folder, os.fsdecode(entry.partition(b"\t")[2]))
                has_git = os.path.lexists(os.path.join(inner, ".git"))
                if has_git and not self._disarm(inner, most_nested - 1):
                    self._reads_submodules = False
        return True

    def _environment(self) -> dict[str, str]:
        # In a git hook, GIT_DIR and similar variables point to the hook's repository.
        kept = {
            name: value
            for name, value in os.environ.items()
            if not name.startswith("GIT_") or name in _KEPT
        }
        kept |= {
            "LC_ALL": "C",
            "GIT_OPTIONAL_LOCKS": "0",
            "GIT_LITERAL_PATHSPECS": "1",
            # Stop a partial clone from fetching missing objects.
            "GIT_NO_LAZY_FETCH": "1",
            "GIT_ALLOW_PROTOCOL": "none",
            "GIT_TERMINAL_PROMPT": "0",
            "GIT_CONFIG_COUNT": str(len(self.settings)),
        }
        for index, (name, value) in enumerate(self.settings.items()):
            kept[f"GIT_CONFIG_KEY_{index}"] = name
            kept[f"GIT_CONFIG_VALUE_{index}"] = value
        return kept


def _kill(process: subprocess.Popen[bytes]) -> None:
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except OSError:  # it has ended
        process.kill()


def _line(answer: bytes | None) -> str | None:
    return os.fsdecode(answer).strip() or None if answer else None
