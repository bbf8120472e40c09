"""Sends large files one at a time in a separate thread, so that small files do not wait."""

from __future__ import annotations

import threading
from concurrent.futures import Future, wait
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable


class BackgroundUpload:
    """Uploads that are running or have finished since they were last checked."""

    def __init__(self) -> None:
        self._uploads: dict[Hashable, Future[None]] = {}

    def send(self, mark: Hashable, work: Callable[[], object], is_last: bool) -> bool:
        """Start an upload unless another is running; return whether this one has finished.

        `mark` identifies the upload. If `is_last` is set, waits until it has finished.
        Raises the upload's exception; the next call then starts the upload again.
        """
        upload = self._uploads.get(mark)
        if upload is None:
            if is_last:
                wait(self._uploads.values())
            elif not all(other.done() for other in self._uploads.values()):
                return False
            upload = self._uploads[mark] = Future()
            # No thread pool is used, because the interpreter would wait for it at exit.
            threading.Thread(
                target=_run, args=(upload, work), name="runfold-upload", daemon=True
            ).start()
        if is_last:
            wait([upload])
        if not upload.done():
            return False
        self._uploads.pop(mark).result()
        return True


def _run(upload: Future[None], work: Callable[[], object]) -> None:
    try:
        work()
    except BaseException as error:
        upload.set_exception(error)
    else:
        upload.set_result(None)
