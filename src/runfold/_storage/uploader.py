"""Uploads in the background: a run's folder goes to its storage as it grows."""

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
# Looking through a folder with very many files takes up no more than a tenth of the time.
_LOOK_RATIO = 10.0
_LONGEST_BACKOFF = 60.0
# At the end somebody waits for it.
_LAST_BACKOFF = 2.0
# And nothing is gained where a file cannot be read, or somebody takes away what was sent.
_LAST_TRIES = 3


class Uploader:
    """Sends a run's files to a store, from a thread, at most once a second.

    Whoever logs never waits for it, and no error of the store reaches them: one is
    told by `tell`, once for each outage, and tried again after 1, 2, 4 ... 60 seconds.
    The local files stay what they are. Where another run is at the URL already,
    this one goes to `<url>-2`, and so on, if the store was reached in time to see it.

    Args:
        folder: the run's folder.
        url: where its files go.
        tell: called with each warning; by default it is a Python warning.
        is_resumed: the run at the URL is this one, and continues there.
        is_shared: event files of other writers may be at the URL. This one adds its own.
        is_staged: the folder was made for the upload, so that all of its files are sent.
    """

    def __init__(
        self,
        folder: str,
        url: str | os.PathLike[str],
        tell: Callable[[str], object] | None = None,
        is_resumed: bool = False,
        is_shared: bool = False,
        is_staged: bool = False,
    ) -> None:
        """Prepare. Raises CannotStore for an unknown scheme and for a driver that is missing."""
        # The program may change its working directory.
        self.folder = os.path.abspath(folder)
        self._store = Store(as_url(url))
        refuse_itself(self.folder, self._store.url)
        self._tell = tell or _warn
        # Where another run is, is no place for a new one; a resumed one belongs there.
        self._is_resumed = is_resumed
        self._is_shared, self._is_staged = is_shared, is_staged
        self._is_placed = False
        self._claim = secrets.token_hex(16).encode()
        fetched = list_fetched(self.folder, self._store.url)
        self._sender = Sender(self.folder, self._store, fetched, all_files=is_staged)
        self._closing = threading.Event()
        self._given_up = threading.Event()
        self._thread: threading.Thread | None = None
        self._pid = 0
        self._is_done = False
        # Why the last try failed; empty where it did not.
        self.reason = ""
        self._moved = 0.0
        # The links that were reported as not uploaded.
        self._reported: set[str] = set()

    @property
    def store(self) -> Store | None:
        """Where the run goes; None until the store was reached for the first time."""
        return self._sender.store if self._is_placed else None

    @property
    def url(self) -> str:
        """Where the run goes, as far as is known, without user and password."""
        return mask_url(self.target)

    @property
    def target(self) -> str:
        """Where the run goes, as far as is known, with the password that the URL may hold."""
        return self._sender.store.url

    def start(self) -> None:
        """Begin; once more does nothing."""
        if self._thread is None:
            self._pid = os.getpid()
            self._store.import_driver()
            self._thread = threading.Thread(target=self._work, name="runfold-upload", daemon=True)
            self._thread.start()

    def hasten(self) -> None:
        """Begin to send the rest, as `close` does, without waiting."""
        if self._pid == os.getpid():
            self._closing.set()

    def close(self, seconds: float = 60.0) -> list[str]:
        """Send the rest and end; return the files that are missing there, as far as is known.

        Waits as long as files are being sent. Gives up when nothing was sent for this many
        seconds, or when the store refused three times. Does nothing in the child of a fork.
        """
        if self._thread is None or self._pid != os.getpid():
            return []
        if is_ending():
            return self._finish(seconds)
        self._moved = time.monotonic()
        self._closing.set()
        try:
            while self._thread.is_alive() and time.monotonic() - self._moved < seconds:
                if is_ending():  # meanwhile, where another thread than the main one waits
                    return self._finish(seconds)
                self._thread.join(0.1)
        finally:  # also after Ctrl-C
            self._given_up.set()
        if self._is_done:
            return []
        return self._sender.missing() or ["what was written last"]

    def _finish(self, seconds: float) -> list[str]:
        """Close at the end of the interpreter."""
        self._given_up.set()
        self._closing.set()
        # What it is sending must not come after what is sent next.
        if self._thread is not None:
            self._thread.join(seconds)
        missing, self.reason = finish_elsewhere(
            self.folder,
            self.target,
            seconds,
            is_resumed=self._is_placed or self._is_resumed,
            is_shared=self._is_shared,
            is_staged=self._is_staged,
        )
        return missing

    def explain(self, missing: list[str]) -> str:
        """What to say of files that were not sent: what they are, why, and what to do."""
        reason = self.reason or "the store did not answer in time"
        options = ", all_files=True" if self._is_staged else ""
        call = f"rf.upload({self.folder!r}, {self.url!r}{options})"
        then = " Then delete the folder." if self._is_staged else ""
        return (
            f"{escape(self.url)}: {escape(reason, 300)}. {human_count(len(missing), 'file')} of the"
            f" run could not be uploaded: {human_list(missing, 3)}. All of it is whole in "
            f"{escape(self.folder, 500)}. Upload it later: "
            f"`import runfold as rf; {escape(call, 1000)}`.{then}"
        )

    def _work(self) -> None:
        failures = tries = 0
        while not self._given_up.is_set():
            is_last = self._closing.is_set()
            try:
                is_whole = self._pass(is_last)
            except Exception as error:  # whatever a driver raises, training goes on
                failures += 1
                self._fail(error, failures)
                wait = min(_LONGEST_BACKOFF, 2.0 ** (failures - 1))
                if is_last:
                    # A store that says no is not down.
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
            self._closing.wait(max(_SECONDS, _LOOK_RATIO * self._sender.look_seconds))

    def _pass(self, is_last: bool) -> bool:
        if not self._is_placed:
            self._find_place()
        is_whole = self._sender.send(is_last, self._advance)
        self._report_outside()
        if is_last and is_whole:
            with contextlib.suppress(PermissionError):  # may write, but not list
                return self._sender.verify()
        return is_whole

    def _find_place(self) -> None:
        """Choose the URL for the run: by default one where no other run is."""
        if self._is_shared:
            with contextlib.suppress(PermissionError):  # may write, but not list
                self._sender.skip_same(self._store.list_files())
            self._is_placed = True
            return
        # The names of event files show whose they are.
        url, number = self._store.url, 1
        ours = set(os.listdir(self.folder)) if os.path.isdir(self.folder) else set()
        listed: dict[str, Entry] = {}
        while True:
            store = Store(url if number == 1 else f"{url}-{number}")
            with contextlib.suppress(PermissionError):  # may write, but not list
                listed = store.list_files()
            others = {name for name in listed if is_event_file(name) and "/" not in name}
            if self._is_resumed or others & ours or (not others and self._claims(store)):
                break
            number, listed = number + 1, {}
        if number > 1:
            self._tell(
                f"There is a run in {self._store} already; this one goes to {store}. "
                "Use resume=True to go on with the other."
            )
        elif not others <= ours:
            self._tell(
                f"{store} has event files of this run that are not in {self.folder}: the run goes "
                "on there, but its steps and batches are counted without them. To go on where "
                "the run ended, fetch its folder from there before."
            )
        lacking = [
            name
            for name in filter(is_artifact, listed)
            if not os.path.lexists(os.path.join(self.folder, name))
        ]
        if lacking:
            self._tell(
                f"{store} has {human_count(len(lacking), 'artifact')} of this run that "
                f"{self.folder} has not, such as {min(lacking)}: another of the same name replaces "
                "it there. Save it under another name, or fetch the folder from there before."
            )
        # What asks for a stop there was meant for an earlier run: nobody knows of this one yet.
        with contextlib.suppress(PermissionError):
            store.delete(side_path(STOP))
        self._sender.store = store
        self._sender.skip_same(listed)
        self._is_placed = True

    def _claims(self, store: Store) -> bool:
        """Whether a place belongs to this run: other machines may begin at the same moment."""
        if store.create(side_path(CLAIM), self._claim):
            return True
        # Made by an earlier try, whose answer did not arrive.
        with contextlib.suppress(FileNotFoundError, PermissionError):
            return store.read(side_path(CLAIM)) == self._claim
        return False

    def _report_outside(self) -> None:
        new = self._sender.outside - self._reported
        if new:
            self._reported |= new
            self._tell(explain_outside(self.folder, new))

    def _advance(self) -> None:
        self._moved = time.monotonic()

    def _fail(self, error: Exception, failures: int) -> None:
        self.reason = explain(error)
        if failures == 1 and not is_ending():
            self._tell(
                f"{self._sender.store}: {self.reason}. Training continues, its files are whole in "
                f"{self.folder}, and the upload is tried again."
            )


def upload_folder(
    folder: str | os.PathLike[str], url: str | os.PathLike[str], *, all_files: bool = False
) -> int:
    """Upload what a run or a logdir has and a store lacks; return the number of files sent.

    Only the files of the log are sent, or with `all_files` all that are not hidden. What
    is there with as many bytes is not sent again. Raises CannotStore where the store
    cannot be reached; called again, it continues.

    Example:
        >>> rf.upload("runs", "s3://bucket/runs")
    """
    place = os.fspath(folder)
    if not os.path.isdir(place):
        raise CannotStore(f"{escape(place)}: there is no such folder. Nothing was uploaded.")
    store = Store(as_url(url))
    refuse_itself(place, store.url)
    sender = Sender(place, store, all_files=all_files)
    try:
        count = sender.skip_same(store.list_files())
        sender.send(is_last=True)
        missing = sender.missing()
    except Exception as error:
        raise CannotStore(
            f"{store}: {escape(explain(error))}. Not all of {escape(place)} was uploaded. "
            "Check the URL, the credentials and the network, and call it again."
        ) from None
    if sender.outside:
        _warn(explain_outside(place, sender.outside))
    if missing:
        raise CannotStore(f"{escape(place)}: these could not be read: {human_list(missing)}.")
    return count


def explain_outside(folder: str, names: set[str]) -> str:
    """Return what to say of links that lead out of an uploaded folder."""
    return (
        f"Links that lead out of {folder} are not uploaded: {human_list(sorted(names), 3)}. "
        "Copy the files into the folder to upload them."
    )


def _warn(message: str) -> None:
    with contextlib.suppress(Warning):  # made an error, it would help nobody in a thread
        warnings.warn(escape(message, 1000), stacklevel=3)
