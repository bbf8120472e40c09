"""The last uploads of a program that is exiting, done by a separate process.

While the interpreter exits, Python starts no more work in thread pools. Every driver
needs thread pools, if only to resolve a host name.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading

_PROGRAM = "from runfold._storage.upload_process import main; main()"


def is_ending() -> bool:
    """Whether the interpreter is exiting and calling exit handlers."""
    return not threading.main_thread().is_alive()


def finish_elsewhere(
    folder: str, url: str, seconds: float, **options: bool
) -> tuple[list[str], str]:
    """Upload the rest of a folder in another process, with these Uploader options.

    Return the files that could not be uploaded, and the reason.
    """
    task = {"folder": folder, "url": url, "seconds": seconds, "options": options}
    try:
        done = subprocess.run(
            # The URL may contain a password, so it must not appear in a list of processes.
            [sys.executable, "-P", "-c", _PROGRAM],
            input=json.dumps(task).encode(),
            stdout=subprocess.PIPE,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
            check=True,
        )
        result = json.loads(done.stdout)
        return result["missing"], result["reason"]
    except (OSError, ValueError, KeyError, subprocess.SubprocessError) as error:
        return ["the latest data"], f"the last upload failed ({type(error).__name__})"
