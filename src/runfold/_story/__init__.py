"""What a run records about itself, and how it is stopped.

Modules:

    story_parts      the parts of the story, as text events under `runfold/`
    story_records    what those parts say, as Python has it
    status           the state of a run
    side_files       small JSON files in the run's folder `.runfold`
    odd_side_files   those that are not small regular files
    processes        the process of a run
    stop_files       the files of a request to stop
    stop_request     asking for a stop, and the thread that sees it
    stopping         asking a run to stop, waiting for it, ending its process
    audit_log        the log of what was done to runs
"""
