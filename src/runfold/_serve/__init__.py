"""Runs in the browser: an HTTP API on top of the library, and the page that uses it.

Modules:

    server              listening on an address, serving, shutting down
    app                 routes, errors, checks and limits around the runs
    http                requests, responses, login and limits
    api                 the routes, one module per family
    charts              chart data: groups, bins, downsampling
    report              a view saved as one HTML file
    tensorboards        real TensorBoards for selected runs
    clusters            TensorBoards on the nodes of a Ray cluster
    run_source          the served runs, read in threads
    work_queues         threads that handle requests
    answer_cache        responses kept until the runs change
    watch               detection of log changes
    live_stream         changes sent to open pages
    page_vocabulary     names and types shared by the server and the page
    static_files        the page's files
    openapi             the OpenAPI description
    background_service  process that runs TensorBoards without `runfold serve`
"""
