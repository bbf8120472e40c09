"""The entry point of `python -m runfold`, the same as the command `runfold`."""

import sys

from runfold._cli import main

sys.exit(main())
