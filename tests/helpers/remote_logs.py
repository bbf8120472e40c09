"""Programs that log to a URL, and the files they leave on this machine."""

import subprocess
import sys


def staged(tmp_path):
    """Return the existing staging folders."""
    root = tmp_path / "state" / "runfold" / "staging"
    return sorted(root.iterdir()) if root.exists() else []


def run_script(body, **options):
    """Start a program that logs with a SummaryWriter."""
    head = "import os, sys, time, signal\nfrom runfold import SummaryWriter\n"
    return subprocess.Popen(
        [sys.executable, "-c", head + body], stderr=subprocess.PIPE, text=True, **options
    )
