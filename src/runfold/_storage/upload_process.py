"""The process that `final_upload` starts to upload the rest of a folder."""

from __future__ import annotations

import json
import sys

from runfold._storage.uploader import Uploader


def main() -> None:
    """Read the task from stdin, upload, and write the missing files to stdout."""
    task = json.load(sys.stdin)
    uploader = Uploader(task["folder"], task["url"], **task["options"])
    uploader.start()
    missing = uploader.close(task["seconds"])
    json.dump({"missing": missing, "reason": uploader.reason}, sys.stdout)
