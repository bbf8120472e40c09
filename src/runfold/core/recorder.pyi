from collections.abc import Mapping
from typing import Any

from runfold.core.encoder import EventBuffer

class Recorder:
    _is_ready: bool
    _limit: int
    last_step: int
    @property
    def _events(self) -> EventBuffer: ...
    def _take(self) -> EventBuffer: ...
    def add_scalar(
        self,
        tag: str,
        scalar_value: Any,
        global_step: Any = None,
        walltime: float | None = None,
        new_style: bool | str = False,
        double_precision: bool | str = False,
        display_name: str = "",
        summary_description: str = "",
    ) -> None: ...
    def log(
        self, values: Mapping[str, Any], step: Any = None, walltime: float | None = None
    ) -> None: ...
