"""Uploads a run's folder to its store in the background, as it grows."""

from __future__ import annotations

import contextlib
import os
import secrets
import threading
import time
import warnings
from typing import TYPE_CHECKING

from runfold._conventions import CLAIM, STOP, is_event_file, side_path
from runfold._humanize import escape, human_count, human_list
from runfold._storage.earlier_files import list_fetched
from runfold._storage.final_upload import finish_elsewhere, is_ending
from runfold._storage.folder_sync import Sender
from runfold._storage.store import Store, explain, is_refusal
from runfold._storage.upload_filter import is_artifact
from runfold._storage.url import as_url, mask_url, refuse_itself
from runfold.errors import CannotStore

if TYPE_CHECKING:
    from collections.abc import Callable

    from runfold._storage.store import Entry

_SECONDS = 1.0
# Scanning a folder with very many files takes at most a tenth of the time.
_SCAN_RATIO = 10.0
_LONGEST_BACKOFF = 60.0
# The longest backoff at the end: shorter, because the program is waiting.
_LAST_BACKOFF = 2.0
# More attempts do not help if a file cannot be read or uploaded files are being deleted.
_LAST_TRIES = 3


class Uploader:
    """Sends a run's files to a store, from a thread, at most once a second.

    Logging never waits for the upload, and the store's errors are never raised: `warn`
    is called once per outage, and the upload is tried again after 1, 2, 4 ... 60 seconds.
    Local files are not changed. If another run is already at the URL, this run goes to
    `<url>-2` and so on, provided the store was reached in time to check.

    Args:
        folder: the run's folder.
        url: the destination.
        warn: called with each warning; by default, a Python warning is issued.
        is_resumed: this run continues the run at the URL.
        is_shared: other writers may have event files at the URL; this run adds its own.
        is_staged: the folder was created for the upload, so all of its files are sent.
    """

    def __init__(
        self,
        folder: str,
        url: str | os.PathLike[str],
        warn: Callable[[str], object] | None = None,
        is_resumed: bool = False,
        is_shared: bool = False,
        is_staged: bool = False,
    ) -> None:
        """Prepare the upload. Raises CannotStore for an unknown scheme or a missing driver."""
        # The program may change its working folder.
        self.folder = os.path.abspath(folder)
        self._store = Store(as_url(url))
        refuse_itself(self.folder, self._store.url)
        self._warn = warn or _warn
        self._is_resumed = is_resumed
        self._is_shared, self._is_staged = is_shared, is_staged
        self._has_url = False
        self._claim = secrets.token_hex(16).encode()
        fetched = list_fetched(self.folder, self._store.url)
        self._sender = Sender(self.folder, self._store, fetched, all_files=is_staged)
        self._closing = threading.Event()
        self._given_up = threading.Event()
        self._thread: threading.Thread | None = None
        self._pid = 0
        self._is_done = False
        # Why the last attempt failed; empty if it succeeded.
        self.reason = ""
        self._moved = 0.0
        # Links already reported as not uploaded.
        self._reported: set[str] = set()

    @property
    def store(self) -> Store | None:
        """The run's store; None until it has been reached for the first time."""
        return self._sender.store if self._has_url else None

    @property
    def url(self) -> str:
        """The run's URL as currently known, without user and password."""
        return mask_url(self.target)

    @property
    def target(self) -> str:
        """The run's URL as currently known, including any password."""
        return self._sender.store.url

    def start(self) -> None:
        """Start the thread. Does nothing if it has already been started."""
        if self._thread is None:
            self._pid = os.getpid()
            self._store.import_driver()
            self._thread = threading.Thread(target=self._work, name="runfold-upload", daemon=True)
            self._thread.start()

    def hasten(self) -> None:
        """Start sending the rest, like `close`, but without waiting."""
        if self._pid == os.getpid():
            self._closing.set()

    def close(self, seconds: float = 60.0) -> list[str]:
        """Send the rest and stop; return the files known to be missing from the store.

        Waits while files are being sent. Gives up if nothing was sent for `seconds`,
        or after the store has rejected three attempts. Does nothing in a forked child.
        """
        if self._thread is None or self._pid != os.getpid():
            return []
        if is_ending():
            return self._finish(seconds)
        self._moved = time.monotonic()
        self._closing.set()
        try:
            while self._thread.is_alive() and time.monotonic() - self._moved < seconds:
                if is_ending():  # possible if this is not the main thread
                    return self._finish(seconds)
                self._thread.join(0.1)
        finally:  # even after Ctrl-C
            self._given_up.set()
        if self._is_done:
            return []
        return self._sender.missing() or ["the latest data"]

    def _finish(self, seconds: float) -> list[str]:
        """Close while the interpreter is exiting."""
        self._given_up.set()
        self._closing.set()
        # The thread's current upload must finish before the next one starts.
        if self._thread is not None:
            self._thread.join(seconds)
        missing, self.reason = finish_elsewhere(
            self.folder,
            self.target,
            seconds,
            is_resumed=self._has_url or self._is_resumed,
            is_shared=self._is_shared,
            is_staged=self._is_staged,
        )
        return missing

    def explain(self, missing: list[str]) -> str:
        """Return a message about files that were not sent: names, the reason, and what to do."""
        reason = self.reason or "the store did not answer in time"
        options = ", all_files=True" if self._is_staged else ""
        call = f"rf.upload({self.folder!r}, {self.url!r}{options})"
        then = " Then delete the folder." if self._is_staged else ""
        return (
            f"{escape(self.url)}: {escape(reason, 300)}. {human_count(len(missing), 'file')} of the"
            f" run could not be uploaded: {human_list(missing, 3)}. The complete run is in "
            f"{escape(self.folder, 500)}. Upload it later: "
            f"`import runfold as rf; {escape(call, 1000)}`.{then}"
        )

    def _work(self) -> None:
        failures = tries = 0
        while not self._given_up.is_set():
            is_last = self._closing.is_set()
            try:
                is_whole = self._pass(is_last)
            except Exception as error:  # training continues, whatever a driver raises
                failures += 1
                self._fail(error, failures)
                wait = min(_LONGEST_BACKOFF, 2.0 ** (failures - 1))
                if is_last:
                    # A store that denies access will not accept a later attempt.
                    tries += is_refusal(error)
                    if tries == _LAST_TRIES:
                        return
                    self._given_up.wait(min(wait, _LAST_BACKOFF))
                else:
                    self._closing.wait(wait)
                continue
            failures, self.reason = 0, ""
            tries += is_last
            self._is_done = is_last and is_whole
            if self._is_done or tries == _LAST_TRIES:
                return
            self._closing.wait(max(_SECONDS, _SCAN_RATIO * self._sender.scan_seconds))

    def _pass(self, is_last: bool) -> bool:
        if not self._has_url:
            self._choose_url()
        is_whole = self._sender.send(is_last, self._advance)
        self._report_outside()
        if is_last and is_whole:
            with contextlib.suppress(PermissionError):  # allowed to write, but not to list
                return self._sender.verify()
        return is_whole

    def _choose_url(self) -> None:
        """Choose the run's URL: by default, one that no other run uses."""
        if self._is_shared:
            with contextlib.suppress(PermissionError):  # allowed to write, but not to list
                self._sender.skip_same(self._store.list_files())
            self._has_url = True
            return
        # Event files have unique names, which show whether they belong to this run.
        url, number = self._store.url, 1
        ours = set(os.listdir(self.folder)) if os.path.isdir(self.folder) else set()
        listed: dict[str, Entry] = {}
        while True:
            store = Store(url if number == 1 else f"{url}-{number}")
            with contextlib.suppress(PermissionError):  # allowed to write, but not to list
                listed = store.list_files()
            others = {name for name in listed if is_event_file(name) and "/" not in name}
            if self._is_resumed or others & ours or (not others and self._claims(store)):
                break
            number, listed = number + 1, {}
        if number > 1:
            self._warn(
                f"There is already a run in {self._store}; this run goes to {store}. "
                "Pass resume=True to continue the existing run."
            )
        elif not others <= ours:
            self._warn(
                f"{store} has event files of this run that are not in {self.folder}: the run "
                "continues in the store, but steps and batches are counted without those files. To "
                "continue where the run ended, download its folder first."
            )
        lacking = [
            name
            for name in filter(is_artifact, listed)
            if not os.path.lexists(os.path.join(self.folder, name))
        ]
        if lacking:
            self._warn(
                f"{store} has {human_count(len(lacking), 'artifact')} of this run that "
                f"{self.folder} does not have, such as {min(lacking)}: a new artifact with the "
                "same name would replace the stored one. Use a different name, or download the "
                "folder first."
            )
        # An existing stop request is for an earlier run: this run has only just appeared.
        with contextlib.suppress(PermissionError):
            store.delete(side_path(STOP))
        self._sender.store = store
        self._sender.skip_same(listed)
        self._has_url = True

    def _claims(self, store: Store) -> bool:
        """Whether this run can claim a URL: other machines may start at the same moment."""
        if store.create(side_path(CLAIM), self._claim):
            return True
        # An earlier attempt may have created the claim, if its response was lost.
        with contextlib.suppress(FileNotFoundError, PermissionError):
            return store.read(side_path(CLAIM)) == self._claim
        return False

    def _report_outside(self) -> None:
        new = self._sender.outside - self._reported
        if new:
            self._reported |= new
            self._warn(explain_outside(self.folder, new))

    def _advance(self) -> None:
        self._moved = time.monotonic()

    def _fail(self, error: Exception, failures: int) -> None:
        self.reason = explain(error)
        if failures == 1 and not is_ending():
            self._warn(
                f"{self._sender.store}: {self.reason}. Training continues, the run is complete "
                f"in {self.folder}, and the upload will be tried again."
            )


def upload_folder(
    folder: str | os.PathLike[str], url: str | os.PathLike[str], *, all_files: bool = False
) -> int:
    """Upload a run or a logdir to a store; return the number of files sent.

    Only the files of the log are sent or, with `all_files`, all files that are not hidden.
    Files that the store already has with the same size are skipped. Raises CannotStore
    if the store cannot be reached; call it again to continue.

    Examples:
        >>> rf.upload("runs", "s3://bucket/runs")
    """
    path = os.fspath(folder)
    if not os.path.isdir(path):
        raise CannotStore(f"{escape(path)}: no such folder. Nothing was uploaded.")
    store = Store(as_url(url))
    refuse_itself(path, store.url)
    sender = Sender(path, store, all_files=all_files)
    try:
        count = sender.skip_same(store.list_files())
        sender.send(is_last=True)
        missing = sender.missing()
    except Exception as error:
        raise CannotStore(
            f"{store}: {escape(explain(error))}. Not all of {escape(path)} was uploaded. "
            "Check the URL, the credentials and the network, and try again."
        ) from None
    if sender.outside:
        _warn(explain_outside(path, sender.outside))
    if missing:
        raise CannotStore(f"{escape(path)}: could not read {human_list(missing)}.")
    return count


def explain_outside(folder: str, names: set[str]) -> str:
    """Return a warning about links that point outside an uploaded folder."""
    return (
        f"Links that point outside {folder} are not uploaded: {human_list(sorted(names), 3)}. "
        "Copy the files into the folder to upload them."
    )


def _warn(message: str) -> None:
    with contextlib.suppress(Warning):  # a filter can turn them into errors
        warnings.warn(escape(message, 1000), stacklevel=3)
