"""A resumed run's earlier event files, fetched from its store and never sent back."""

from __future__ import annotations

import contextlib
import json
import os
import threading
import time

from runfold._conventions import FETCHED, SIDE_FOLDER, is_event_file
from runfold._files import open_folder, read_small
from runfold._storage.store import Store
from runfold._storage.url import mask_url

# The size limit for the list of fetched files. The list has one line per file: URL and name.
MOST_FETCHED_BYTES = 4 << 20


def fetch_lacking(folder: str, url: str, seconds: float) -> None:
    """Fetch the event files of the run at a URL that are missing from its folder.

    Each file is fetched completely or not at all. Stops if the store sends nothing for
    `seconds`. The store's errors are ignored; an invalid URL raises CannotStore.
    """
    store = Store(url)
    moved = time.monotonic()
    is_given_up = threading.Event()

    def advance(_: int) -> None:
        nonlocal moved
        moved = time.monotonic()
        if is_given_up.is_set():
            raise TimeoutError("the store did not answer in time")

    def work() -> None:
        with contextlib.suppress(Exception):  # drivers raise all kinds of exceptions
            for name, entry in store.list_files().items():
                target = os.path.join(folder, name)
                if is_event_file(name) and "/" not in name and not os.path.lexists(target):
                    advance(0)
                    _note(folder, url, name)
                    store.get(name, entry, target, advance)

    thread = threading.Thread(target=work, name="runfold-fetch", daemon=True)
    thread.start()
    while thread.is_alive() and time.monotonic() - moved < seconds:
        thread.join(0.1)
    is_given_up.set()


def list_fetched(folder: str, url: str) -> frozenset[str]:
    """Return the event files in a run's folder that were fetched from a URL.

    These files are not sent back, because their writer may have sent more data in the
    meantime. The writer can be a job that was still ending when another machine took over.
    """
    try:
        with open_folder(os.path.join(folder, SIDE_FOLDER)) as opened:
            lines = read_small(FETCHED, MOST_FETCHED_BYTES, dir_fd=opened).splitlines()
        return frozenset(name for at, name in map(json.loads, lines) if at == mask_url(url))
    except (OSError, ValueError, TypeError):  # missing, or not ours
        return frozenset()


def _note(folder: str, url: str, name: str) -> None:
    side = os.path.join(folder, SIDE_FOLDER)
    os.makedirs(side, exist_ok=True)
    flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    with open_folder(side, is_written=True) as opened:
        descriptor = os.open(FETCHED, flags, 0o666, dir_fd=opened)
        with open(descriptor, "a", encoding="utf-8") as file:
            file.write(json.dumps([mask_url(url), name]) + "\n")
