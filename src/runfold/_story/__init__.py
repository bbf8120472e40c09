"""The story of a run (the metadata that it records about itself), and how to stop a run.

Modules:

    story_parts      the parts of the story, as text events under `runfold/`
    story_records    dataclasses for those parts
    status           the state of a run
    side_files       small JSON files in the run's folder `.runfold`
    odd_side_files   side files that are not small regular files
    processes        the process of a run
    stop_files       the files of a stop request
    stop_request     sends a stop request, and watches for one
    stopping         requests a stop, waits for it, and ends the process
    audit_log        an append-only log of actions on runs
"""
