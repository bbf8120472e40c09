"""`python -m runfold.compat.tensorboard_reducer`, with the arguments of `tb-reducer`."""

import sys

from runfold.compat.tensorboard_reducer import main

if __name__ == "__main__":
    try:
        sys.exit(main())
    except (ValueError, OSError) as error:
        sys.exit(f"TensorBoard Reducer: {error}")
