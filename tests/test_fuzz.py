"""Each fuzz target runs briefly from its seeds without failures; `make fuzz` runs longer."""

import subprocess
import sys
from pathlib import Path

import pytest
from helpers.checkout import ROOT

FUZZ = ROOT / "fuzz"
SEED = "import sys, pathlib, seeds; seeds.write_seeds('%s', pathlib.Path(sys.argv[1]))"


def run(*arguments: str) -> str:
    result = subprocess.run(
        [sys.executable, *arguments], cwd=FUZZ, capture_output=True, text=True, check=False
    )
    assert result.returncode == 0, result.stdout + result.stderr
    return result.stdout + result.stderr


@pytest.mark.parametrize("target", ["framing", "payloads", "tensors"])
def test_target_passes_for_mutated_seeds(target: str, tmp_path: Path) -> None:
    corpus = tmp_path / "corpus"
    run("-c", SEED % target, str(corpus))
    assert len(list(corpus.iterdir())) > 20
    prefix = f"-artifact_prefix={tmp_path}/"
    options = ("-atheris_runs=2000", "-seed=1", "-max_len=512", prefix)
    assert "Done 2000" in run(f"{target}.py", *options, str(corpus))
