"""`python -m runfold` is the command `runfold`."""

import sys

from runfold.cli import main

sys.exit(main())
