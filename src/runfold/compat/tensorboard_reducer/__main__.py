"""`python -m runfold.compat.tensorboard_reducer`, with the arguments of `tb-reducer`."""

import sys

from runfold._signals import run_process
from runfold.compat.tensorboard_reducer import main as reduce_runs


def main() -> int:
    """Run the command and return its exit status: 1 if runs cannot be reduced, as in tb-reducer."""
    return run_process(_reduce)


def _reduce() -> int:
    try:
        return reduce_runs()
    except BrokenPipeError:
        raise
    except (ValueError, OSError) as error:
        print(f"TensorBoard Reducer: {error}", file=sys.stderr)
        return 1


if __name__ == "__main__":
    sys.exit(main())
