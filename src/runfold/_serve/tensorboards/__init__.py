"""Real TensorBoards for selected runs, each started, monitored and ended in its own process.

Modules:

    instance_store     all instances, in SQLite
    instance_options   TensorBoard flags that users can set
    instance_names     names such as `brisk-otter`
    instance_runs      the runs that an instance shows
    instance_requests  opening, ending and reading an instance
    instance_api       the routes for instances
    registry           the instances of a server
    service            finding or starting the service that manages instances
    supervisor         starting, monitoring and ending what the store lists
    supervised         one instance, from start to end
    instance           the process of an instance
    process_files      small files by which processes find each other
    child              TensorBoard in its own process
    link_tree          a folder of links to the selected runs
    key_gate           the key check in front of TensorBoard
    log_lines          lines of an instance's log
    proxy_pages        the pages under /proxy/
    proxy              requests forwarded to an instance
    upstream           one connection to an instance
"""
