"""Logs changed on disk: values, tags and runs removed, renamed or moved; broken files repaired.

from runfold.edit import edit, repair

edit("runs", "clean", delete_tags="debug/*", every=10)
repair("runs", "sound").changed
"""

from runfold.edit.apply import edit
from runfold.edit.repairs import repair

__all__ = ["edit", "repair"]
