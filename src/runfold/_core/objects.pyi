from typing import Any, TypeVar

T = TypeVar("T")

def make_objects(
    cls: type[T], columns: dict[str, list[Any]], is_atomic: bool = False
) -> list[T]: ...
