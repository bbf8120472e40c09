"""The entry point of `python -m runfold`, which is the same as the `runfold` command."""

import sys

from runfold._cli import main

sys.exit(main())
