"""Logs changed on disk: values, tags and runs removed, renamed or moved; broken files repaired.

    rf.edit("runs", "clean", delete_tags="debug/*", every=10)
    rf.repair("runs", "sound").changed

Modules:

    apply_edit      `edit`, from survey to result
    edit_rules      what an edit changes
    survey          what a run holds before the edit
    run_plan        which runs become which
    run_order       the order of runs that are joined
    run_split       the runs that a split makes
    merge_checks    what may not be joined
    renaming        new names for tags and runs
    tag_rules       the rules for the tags of each run
    tag_references  values that name other tags
    moved_tags      tags moved into another run
    record_stream   the records of a file, rewritten a few megabytes at a time
    edited_files    the event files of the result
    folder_tree     all other files in their new places
    edit_target     the place of the result, taken in one step
    live_runs       runs that are still written
    edit_report     what an edit did
    repairs         `repair`
    sound_records   which bytes of a broken file are sound records
"""

from runfold._edit.apply_edit import edit
from runfold._edit.repairs import repair

__all__ = ["edit", "repair"]
