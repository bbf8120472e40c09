"""Build the documentation site into build/site: `python docs/build.py`, or `make docs`.

The pages in docs/ are copied to build/docs, and the derived pages are written next to
them. The pages on commands, kinds, statistics and problems come from the package; the
changelog and the examples come from their files. Zensical then builds the site, and
fails if a link is broken or a name cannot be resolved.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import derived_pages

ROOT = Path(__file__).resolve().parent.parent
DOCS = ROOT / "docs"
PAGES = ROOT / "build" / "docs"
SITE = ROOT / "build" / "site"

# Search needs a worker. For file:// URLs, browsers allow one only with this script, which the
# theme would otherwise fetch from another host.
SHIM_URL = "https://unpkg.com/iframe-worker/shim"
SHIM = ROOT / "web" / "node_modules" / "iframe-worker" / "shim" / "index.js"
SHIM_IN_SITE = "assets/javascripts/iframe-worker.js"


def main() -> int:
    """Build the site, and return Zensical's exit status."""
    copy_pages()
    derived_pages.write(PAGES)
    shutil.rmtree(SITE, ignore_errors=True)
    command = [sys.executable, "-m", "zensical", "build", "--clean", "--strict"]
    # Wide enough that signatures in the reference are not wrapped in odd places.
    done = subprocess.run(command, cwd=ROOT, env={**os.environ, "COLUMNS": "100"}, check=False)
    if done.returncode == 0:
        include_shim()
        print(SITE / "index.html")
    return done.returncode


def copy_pages() -> None:
    """Delete the output of an earlier build, and copy the written pages and pictures."""
    shutil.rmtree(PAGES, ignore_errors=True)
    shutil.copytree(DOCS, PAGES, ignore=shutil.ignore_patterns("*.py", "__pycache__"))


def include_shim() -> None:
    """Let every page load the worker script from the site itself."""
    shutil.copy(SHIM, SITE / SHIM_IN_SITE)
    for path in [*SITE.rglob("*.html"), *SITE.rglob("*.js")]:
        text = path.read_text(encoding="utf-8")
        if SHIM_URL in text:
            local = os.path.relpath(SITE / SHIM_IN_SITE, path.parent)
            path.write_text(re.sub(re.escape(SHIM_URL), local, text), encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main())
