"""Records a run's code, console output, environment and system metrics.

Modules:

    code            commit, uncommitted changes, untracked sources, imported files
    git             queries to the git command
    patch           git patches: parsing, masking, quoting
    source_files    rules for which files are a project's sources
    script_imports  imports of a script, found by parsing it
    console         standard output and error, copied into the run
    tee             the process that copies output to its destination and to the run
    transcript      console text, cleaned up and logged in chunks
    environment     host, packages, environment variables and command line
    system_metrics  CPU, memory, disk, network and GPUs, every few seconds
"""
