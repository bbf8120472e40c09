"""What git says of a folder: its command may be missing, refuse, or take too long."""

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

_SECONDS = 10.0  # for all questions together
_LONGEST_LISTING = 16_000_000
_MOST_PATHS = 500  # of one question
_MOST_NESTED = 5  # submodules within submodules
_SUBMODULE = b"160000 "  # the mode of its entry in the index
_KEPT = (
    *("GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM", "GIT_CONFIG_NOSYSTEM", "GIT_EXEC_PATH"),
    *("GIT_CEILING_DIRECTORIES", "GIT_DISCOVERY_ACROSS_FILESYSTEM"),
)
# A folder's own settings must neither run a program nor change the form of the answers.
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
    """Questions about the repository around a folder. None is the answer where there is none."""

    def __init__(self, folder: str) -> None:
        self.folder = folder
        self.is_late = False
        self.ends = time.monotonic() + _SECONDS
        self.settings = dict(_SETTINGS)
        # git looks into a submodule with the programs that its own settings name.
        self._knows_submodules = True

    def find_root(self) -> str | None:
        """The top of the working tree; later questions are asked there."""
        answer = self.ask("rev-parse", "--show-toplevel")
        if not answer:
            # git refuses a folder of another user because its settings may name programs.
            # In a container that is the usual case: the folder is mounted from outside.
            self.settings["safe.directory"] = "*"
            answer = self.ask("rev-parse", "--show-toplevel")
        if not answer:
            return None
        self.folder = os.fsdecode(answer.removesuffix(b"\n"))
        return self.folder if self._disarm(self.folder, _MOST_NESTED) else None

    def find_commit(self) -> str | None:
        """The commit that is checked out; None where there is none yet."""
        return _line(self.ask("rev-parse", "--verify", "--quiet", "HEAD^{commit}"))

    def find_branch(self) -> str | None:
        """The branch that is checked out; None for a detached head."""
        return _line(self.ask("symbolic-ref", "--quiet", "--short", "HEAD"))

    def find_remote(self, branch: str | None) -> str | None:
        """The URL, without credentials, that the branch comes from; else that of `origin`."""
        wanted = r"^(remote\..*\.url|branch\..*\.remote)$"
        # `remote get-url` would rewrite it by `insteadOf`, where people keep their tokens.
        answer = os.fsdecode(self.ask("config", "-z", "--get-regexp", wanted) or b"")
        found: dict[str, str] = {}
        for entry in answer.split("\0"):
            name, _, value = entry.partition("\n")
            found.setdefault(name, value)
        for remote in (found.get(f"branch.{branch}.remote"), "origin"):
            if url := found.get(f"remote.{remote}.url"):
                break
        else:
            urls = (value for name, value in found.items() if name.endswith(".url"))
            url = next(urls, "")
        return mask_text(url).replace("://***@", "://") or None

    def diff(self, commit: str | None, most: int) -> bytes | None:
        """What differs from a commit, or from nothing: raw lines, then patches; cut at `most`."""
        # The tree without files is known to each repository; its name depends on the hash in use.
        base = commit or _line(self.ask("hash-object", "-t", "tree", "--stdin"))
        if not base:
            return None
        ignored = "untracked" if self._knows_submodules else "dirty"
        return self.ask(*_DIFF, f"--ignore-submodules={ignored}", base, "--", most=most)

    def find_filtered(self, paths: Sequence[str]) -> set[str] | None:
        """Return which paths have a filter that was not run; None where git does not say."""
        filters = {name.split(".", 1)[1].rpartition(".")[0] for name in self._filters()}
        found: set[str] = set()
        for start in range(0, len(paths) if filters else 0, _MOST_PATHS):
            some = paths[start : start + _MOST_PATHS]
            answer = self.ask("check-attr", "-z", "filter", "--", *some, most=_LONGEST_LISTING)
            if answer is None:
                return None
            fields = [os.fsdecode(field) for field in answer.split(b"\0")]
            values = zip(fields[::3], fields[2::3], strict=False)
            found |= {path for path, value in values if value in filters}
        return found

    def list_untracked(self, most: int) -> bytes | None:
        """Names, each ended by NUL, of what is neither tracked nor ignored; cut at `most`."""
        return self.ask("ls-files", "--others", "--exclude-standard", "-z", most=most)

    def is_tracked(self, path: str) -> bool:
        """Whether git knows a file, by its path below the root; also where git does not say."""
        return self.ask("ls-files", "--cached", "-z", "--", path) != b""

    def ask(
        self, *arguments: str, most: int = 1_000_000, folder: str | None = None
    ) -> bytes | None:
        """What git answers, at most `most` bytes of it; None when it fails or takes too long."""
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
                start_new_session=True,  # a filter that hangs is ended with it
            )
        except (OSError, ValueError):  # no git here, or no such folder
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
        is_whole = process.returncode in (0, 1)  # 1 is `none`
        return answer if is_whole or len(answer) == most else None

    def _stop(self, process: subprocess.Popen[bytes]) -> None:
        self.is_late = True
        _kill(process)

    def _filters(self) -> list[str]:
        return [name for name in self.settings if name.startswith("filter.")]

    def _disarm(self, folder: str, most_nested: int) -> bool:
        """Let git run no filter in a repository and its submodules; False where it does not say.

        Whoever made the repository chose these programs, and a filter of the user, such
        as git-lfs, may run what the repository's settings name.
        """
        query = ("config", "--includes", "-z", "--name-only", "--get-regexp", r"^filter\.")
        answer = self.ask(*query, folder=folder)
        if answer is None:
            return False
        for name in filter(None, os.fsdecode(answer).split("\0")):
            self.settings[name] = "false" if name.endswith(".required") else ""
        listing = self.ask("ls-files", "--stage", "-z", folder=folder, most=_LONGEST_LISTING)
        if listing is None or len(listing) == _LONGEST_LISTING or not most_nested:
            self._knows_submodules = False
            return True
        for entry in listing.split(b"\0"):
            if entry.startswith(_SUBMODULE):
                inner = os.path.join(folder, os.fsdecode(entry.partition(b"\t")[2]))
                has_git = os.path.lexists(os.path.join(inner, ".git"))
                if has_git and not self._disarm(inner, most_nested - 1):
                    self._knows_submodules = False
        return True

    def _environment(self) -> dict[str, str]:
        # In a hook, GIT_DIR and others name the repository of the hook.
        kept = {
            name: value
            for name, value in os.environ.items()
            if not name.startswith("GIT_") or name in _KEPT
        }
        kept |= {
            "LC_ALL": "C",
            "GIT_OPTIONAL_LOCKS": "0",
            "GIT_LITERAL_PATHSPECS": "1",
            # A partial clone would fetch what it lacks.
            "GIT_NO_LAZY_FETCH": "1",
            "GIT_ALLOW_PROTOCOL": "none",
            "GIT_TERMINAL_PROMPT": "0",
            "GIT_CONFIG_COUNT": str(len(self.settings)),
        }
        for place, (name, value) in enumerate(self.settings.items()):
            kept[f"GIT_CONFIG_KEY_{place}"] = name
            kept[f"GIT_CONFIG_VALUE_{place}"] = value
        return kept


def _kill(process: subprocess.Popen[bytes]) -> None:
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except OSError:  # it has ended
        process.kill()


def _line(answer: bytes | None) -> str | None:
    return os.fsdecode(answer).strip() or None if answer else None
