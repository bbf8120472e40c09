"""The DataFrame that every table is, which also hands itself to Arrow and Polars."""

# The one module that needs pandas to be defined: functions import it where they make a table.
from __future__ import annotations

from typing import TYPE_CHECKING

import pandas as pd  # noqa: TID253

if TYPE_CHECKING:
    from collections.abc import Callable


class Table(pd.DataFrame):
    """A pandas DataFrame of log data; what is taken from it or made of it is one as well."""

    @property
    def _constructor(self) -> Callable[..., Table]:
        return Table
