"""Execute the example notebooks and save them with their outputs.

    python examples/run.py                          # all notebooks in this folder
    python examples/run.py object_detection.ipynb   # one of them
    python examples/run.py --frameworks             # all notebooks in frameworks/
    python examples/run.py --output DIR             # save in DIR instead of in place

Each notebook runs in its own temporary folder, with the Python that runs this script.
Needs nbclient and ipykernel, which the `test` extra installs.
"""

from __future__ import annotations

import argparse
import os
import tempfile
from pathlib import Path
from typing import Any

import matplotlib
import nbformat
from jupyter_client.kernelspec import KernelSpecManager
from jupyter_client.manager import AsyncKernelManager
from nbclient import NotebookClient

EXAMPLES = Path(__file__).parent
METADATA = {
    "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
    "language_info": {"name": "python"},
}


def execute(path: Path, folder: Path) -> Any:
    """Return the notebook with new outputs, after running its cells in `folder`.

    The file itself does not change. Raises CellExecutionError if a cell fails.
    """
    notebook = nbformat.read(path, as_version=4)
    with tempfile.TemporaryDirectory() as settings:
        environment = make_environment(Path(settings))
        # Without kernel folders, `python3` is the kernel of the current interpreter.
        manager = AsyncKernelManager(
            kernel_name="python3",
            kernel_spec_manager=KernelSpecManager(kernel_dirs=[]),
            connection_file=str(Path(settings) / "kernel.json"),
        )
        client = NotebookClient(
            notebook,
            km=manager,
            timeout=600,
            startup_timeout=300,
            record_timing=False,
            # Otherwise the kernel warns that it listens on TCP, as every kernel does.
            extra_arguments=["--log-level=ERROR"],
            resources={"metadata": {"path": str(folder)}},
        )
        client.execute(env=environment)
    return clean(notebook)


def make_environment(settings: Path) -> dict[str, str]:
    """Return an environment without the user's settings. `settings` is an empty folder."""
    ignored = ("PYTHONSTARTUP", "PYTHONWARNINGS", "COLUMNS", "LINES")
    return {
        **{name: value for name, value in os.environ.items() if name not in ignored},
        "IPYTHONDIR": str(settings / "ipython"),
        "JUPYTER_CONFIG_DIR": str(settings / "jupyter"),
        "JUPYTER_NO_CONFIG": "1",
        "XDG_STATE_HOME": str(settings / "state"),
        "MATPLOTLIBRC": str(Path(matplotlib.get_data_path()) / "matplotlibrc"),
        "MPLBACKEND": "module://matplotlib_inline.backend_inline",
        "PYTHONNOUSERSITE": "1",
        # tqdm asks for widgets, which a saved notebook could not show.
        "PYTHONWARNINGS": "ignore:IProgress",
        # One thread gives the same sums on every machine, and is faster for small models.
        "OMP_NUM_THREADS": "1",
        "OPENBLAS_NUM_THREADS": "1",
        "MKL_NUM_THREADS": "1",
        # The same instructions on every machine: a difference in the last digit would change
        # the episodes of an agent.
        "ATEN_CPU_CAPABILITY": "default",
        "MKL_CBWR": "COMPATIBLE",
        "ONEDNN_MAX_CPU_ISA": "SSE41",
        # TensorFlow, if it is installed, prints a greeting when a framework imports it.
        "TF_CPP_MIN_LOG_LEVEL": "3",
        "TF_ENABLE_ONEDNN_OPTS": "0",
    }


def clean(notebook: Any) -> Any:
    """Remove metadata that changes from run to run, and join streams that arrived in pieces."""
    notebook.metadata = nbformat.from_dict(METADATA)
    for cell in notebook.cells:
        cell.metadata = nbformat.from_dict({})
        if cell.cell_type == "code":
            cell.outputs = join_streams(cell.outputs)
            for output in cell.outputs:
                if "image/png" in output.get("data", {}):
                    output.data.pop("image/jpeg", None)  # PIL returns each picture twice
    return notebook


def join_streams(outputs: list[Any]) -> list[Any]:
    """Return the outputs with neighboring pieces of the same stream joined."""
    joined: list[Any] = []
    for output in outputs:
        stream = output.get("name")  # only streams have a name
        if stream and joined and joined[-1].get("name") == stream:
            joined[-1].text += output.text
        else:
            joined.append(output)
    return joined


def main() -> None:
    """Execute the notebooks named on the command line, and save them."""
    parser = argparse.ArgumentParser(description="Execute the example notebooks and save them.")
    parser.add_argument("notebooks", nargs="*", help="Paths below examples/. Default: all.")
    parser.add_argument(
        "--frameworks", action="store_true", help="Execute the notebooks in frameworks/."
    )
    parser.add_argument("--output", type=Path, default=EXAMPLES, help="Default: in place.")
    options = parser.parse_args()
    folder = EXAMPLES / "frameworks" if options.frameworks else EXAMPLES
    named = [EXAMPLES / name for name in options.notebooks]
    for path in named or sorted(folder.glob("*.ipynb")):
        name = path.relative_to(EXAMPLES)
        print(name, flush=True)
        with tempfile.TemporaryDirectory() as temporary:
            notebook = execute(path, Path(temporary))
        (options.output / name).parent.mkdir(exist_ok=True)
        nbformat.write(notebook, options.output / name)


if __name__ == "__main__":
    main()
