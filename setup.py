"""Compile the Cython core; everything else about the package is in pyproject.toml.

RUNFOLD_CHECKED=1 rebuilds with every Cython check on, and
RUNFOLD_SANITIZE=address,undefined with gcc's sanitizers.
"""

import os
from pathlib import Path

import numpy
from Cython.Build import cythonize
from setuptools import Extension, setup

CORE = Path("src/runfold/core")
checked = os.environ.get("RUNFOLD_CHECKED") == "1"
sanitize = os.environ.get("RUNFOLD_SANITIZE", "")

compile_args = ["-O1", "-g"] if sanitize else ["-O3"]
link_args = []
if sanitize:
    compile_args += [f"-fsanitize={sanitize}", "-fno-omit-frame-pointer"]
    link_args += [f"-fsanitize={sanitize}"]

extensions = [
    Extension(
        f"runfold.core.{path.stem}",
        [str(path)],
        include_dirs=[numpy.get_include(), str(CORE)],
        define_macros=[("NPY_NO_DEPRECATED_API", "NPY_2_0_API_VERSION")],
        depends=[str(header) for pattern in ("*.h", "*.pxd") for header in sorted(CORE.glob(pattern))],
        extra_compile_args=compile_args,
        extra_link_args=link_args,
    )
    for path in sorted(CORE.glob("*.pyx"))
]

setup(
    ext_modules=cythonize(
        extensions,
        include_path=["src"],
        compiler_directives={
            "language_level": 3,
            "boundscheck": checked,
            "wraparound": checked,
            "initializedcheck": checked,
            "overflowcheck": checked,
            "cdivision": not checked,
            "freethreading_compatible": True,
        },
    ),
)
