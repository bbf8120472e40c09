from collections.abc import Mapping
from typing import Any

from runfold._core.encoder import EventBuffer

class Recorder:
    is_ready: bool
    limit: int
    last_step: int
    @property
    def events(self) -> EventBuffer: ...
    def take(self) -> EventBuffer: ...

class ScalarMethods:
    last_step: int
    @property
    def _recorder(self) -> Recorder: ...
    @property
    def _event_writer(self) -> Any: ...
    def _use(self, event_writer: ScalarMethods) -> None: ...
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
    def _log_plain(self, values: Mapping[str, Any], step: Any, prefix: str = "") -> bool: ...
