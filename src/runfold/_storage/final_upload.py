"""The last uploads of a program that has come to its end, by a process of their own.

While the interpreter ends, Python starts no more work in pools of threads, and every
driver needs those, if only to look up the name of a host.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading

_PROGRAM = "from runfold._storage.upload_process import main; main()"


def is_ending() -> bool:
    """Whether the interpreter is about to end, and calls what was left for its exit."""
    return not threading.main_thread().is_alive()


def finish_elsewhere(
    folder: str, url: str, seconds: float, **options: bool
) -> tuple[list[str], str]:
    """Upload the rest of a folder with an Uploader of these options.

    Return the files that could not be uploaded, and why.
    """
    task = {"folder": folder, "url": url, "seconds": seconds, "options": options}
    try:
        done = subprocess.run(
            # The URL, which may hold a password, is for nobody who lists processes.
            [sys.executable, "-P", "-c", _PROGRAM],
            input=json.dumps(task).encode(),
            stdout=subprocess.PIPE,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
            check=True,
        )
        told = json.loads(done.stdout)
        return told["missing"], told["reason"]
    except (OSError, ValueError, KeyError, subprocess.SubprocessError) as error:
        return ["what was written last"], f"the last upload failed ({type(error).__name__})"
