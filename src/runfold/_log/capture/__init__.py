"""What is recorded around a run: its code, console output, environment and machine.

Modules:

    code            commit, uncommitted changes, untracked sources, imported files
    git             what the git command reports about a folder
    patch           patches as git writes and applies them
    source_files    which files are sources of a project
    script_imports  what a script imports, read from its text
    console         standard output and error, copied into the run
    tee             the process that copies output to its destination and to the run
    transcript      console text on its way into the run
    environment     host, packages, environment variables and command line
    system_metrics  CPU, memory, disk, network and GPUs, every few seconds
"""
