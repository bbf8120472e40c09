"""Editing logs on disk: remove, rename or move values, tags and runs; repair broken files.

    rf.edit("runs", "clean", delete_tags="debug/*", every=10)
    rf.repair("runs", "repaired").changed

Modules:

    apply_edit      `edit`, from survey to result
    edit_rules      the rules of an edit
    survey          the content of a run before the edit
    run_plan        the new names of runs, and which runs are merged
    run_order       the order of merged runs
    run_split       the runs created by a split
    merge_checks    rejects merges that readers could not separate
    renaming        new names for tags and runs
    tag_rules       the rules for the tags of each run
    tag_references  values that name other tags
    moved_tags      tags moved to another run
    record_stream   rewrites the records of a file a few megabytes at a time
    edited_files    the event files of the result
    folder_tree     all other files in their new folders
    edit_target     the folder of the result, put in place in one step
    live_runs       runs that are still being written to
    edit_report     the report of an edit
    repairs         `repair`
    sound_records   finds the intact records of a broken file
"""

from runfold._edit.apply_edit import edit
from runfold._edit.repairs import repair

__all__ = ["edit", "repair"]
