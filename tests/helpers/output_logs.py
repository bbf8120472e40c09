"""The console output in a run's folder."""

from pathlib import Path

import runfold as rf
from runfold._story.story_parts import decode_story


def output(folder: Path) -> tuple[str, list[int]]:
    """Return the output's text and the steps of its chunks."""
    texts = rf.open(folder).text()
    texts = texts[texts["tag"] == "runfold/output"]
    return "".join(map(decode_story, texts["text"])), texts["step"].tolist()
