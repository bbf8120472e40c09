"""Real TensorBoards over chosen runs: started, kept, watched and ended, each in its own process.

Modules:

    instance_store     all instances, in SQLite
    instance_options   TensorBoard's flags that may be set
    instance_names     names such as `brisk-otter`
    instance_runs      which runs an instance shows
    instance_requests  opening, ending and reading an instance
    instance_api       the routes of instances
    registry           the instances of a server
    service            the service that keeps instances, found or started
    supervisor         starts, watches and ends what the store lists
    supervised         one instance, from start to end
    instance           its process
    process_files      small files by which processes find each other
    child              the TensorBoard in this process
    link_tree          a folder of links to the chosen runs
    key_gate           the check of the key before TensorBoard
    log_lines          lines of an instance's log
    proxy_pages        what is shown below /proxy/
    proxy              requests forwarded to an instance
    upstream           one connection to an instance
"""
