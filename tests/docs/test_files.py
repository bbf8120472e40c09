"""docs/reference/files.md lists every name that Runfold writes."""

import pytest
from helpers.checkout import ROOT

from runfold import _conventions
from runfold._story.story_parts import PARTS

PAGE = (ROOT / "docs" / "reference" / "files.md").read_text(encoding="utf-8")
NAMES = {
    name: value
    for name, value in vars(_conventions).items()
    if name.isupper() and isinstance(value, str)
}


@pytest.mark.parametrize("name", NAMES)
def test_every_convention_is_listed(name: str) -> None:
    assert NAMES[name] in PAGE


@pytest.mark.parametrize("part", PARTS)
def test_every_part_of_the_story_is_listed(part: str) -> None:
    assert f"`runfold/{part}`" in PAGE
