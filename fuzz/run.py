"""Run every fuzz target for a share of the time; the exit status shows whether all passed.

    python fuzz/run.py SECONDS [BUILD]

BUILD is the package compiled with clang and -fsanitize=address,fuzzer-no-link; without
it, only the branches of the Python code guide the search. Inputs are written to
fuzz-corpus/, with one folder per target, and failing inputs to fuzz-corpus/crashes/.
"""

import os
import re
import subprocess
import sys
from pathlib import Path

import seeds

TARGETS = ("framing", "payloads", "tensors")
HERE = Path(__file__).parent
CORPUS = HERE.parent / "fuzz-corpus"

# libFuzzer's output for each new input and for useful words.
NOISE = re.compile(r"#\d+\s+(NEW|REDUCE|RELOAD)|\s*NEW_(FUNC|PC)|INFO: Instrumenting|###|\"")


def environment(build: str) -> dict[str, str]:
    """Return the environment in which the compiled core is loaded and reports its branches."""
    if not build:
        print("clang was not found: only the Python code guides the search.")
        return dict(os.environ)
    import atheris  # type: ignore[import-untyped]

    return {
        **os.environ,
        "PYTHONPATH": build,
        "LD_PRELOAD": str(Path(atheris.path()) / "asan_with_fuzzer.so"),
        # Python never frees all its memory, and its pools hide errors.
        "ASAN_OPTIONS": "detect_leaks=0:allocator_may_return_null=1",
        "PYTHONMALLOC": "malloc",
    }


def fuzz(target: str, seconds: int, variables: dict[str, str]) -> bool:
    """Run one target; return False if an input fails."""
    folder, crashes = CORPUS / target, CORPUS / "crashes"
    seeds.write_seeds(target, folder)
    crashes.mkdir(exist_ok=True)
    print(f"== {target}", flush=True)
    arguments = [
        sys.executable,
        str(HERE / f"{target}.py"),
        f"-max_total_time={seconds}",
        f"-artifact_prefix={crashes}/{target}-",
        "-timeout=20",
        "-rss_limit_mb=4096",
        "-max_len=2048",
        "-print_final_stats=1",
        str(folder),
    ]
    with subprocess.Popen(
        arguments, env=variables, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    ) as process:
        assert process.stdout is not None
        for line in process.stdout:
            if not NOISE.match(line):
                print(line, end="", flush=True)
    return process.returncode == 0


def main() -> None:
    """Divide the time among the targets."""
    seconds = max(1, int(sys.argv[1]) // len(TARGETS))
    variables = environment(sys.argv[2] if len(sys.argv) > 2 else "")
    failed = [target for target in TARGETS if not fuzz(target, seconds, variables)]
    if failed:
        sys.exit(f"Failing inputs of {', '.join(failed)} are in {CORPUS / 'crashes'}")


if __name__ == "__main__":
    main()
