"""`python -m runfold` is the command `runfold`."""

import sys

from runfold._cli import main

sys.exit(main())
