"""A griffe extension that reads `runfold.integrations` from its sources.

The reference is generated from imported modules, but the frameworks that these modules import are
not installed where the documentation is built.
"""

from __future__ import annotations

from typing import Any

import griffe


class StaticIntegrations(griffe.Extension):
    """Adds the modules of `runfold.integrations` that could not be imported."""

    def on_package(self, *, pkg: griffe.Module, loader: griffe.GriffeLoader, **_: Any) -> None:
        """Read each missing module after the package is loaded."""
        if pkg.path != "runfold":
            return
        package = pkg["integrations"]
        for path in sorted(package.filepath.parent.glob("[!_]*.py")):
            module = griffe.visit(
                path.stem,
                filepath=path,
                code=path.read_text(encoding="utf-8"),
                parent=package,
                docstring_parser=loader.docstring_parser,
                docstring_options=loader.docstring_options,
                lines_collection=loader.lines_collection,
                modules_collection=loader.modules_collection,
            )
            package.set_member(path.stem, module)
