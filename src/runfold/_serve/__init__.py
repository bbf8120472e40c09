"""Runs in the browser: an HTTP API over the library's own calls, and the page that uses it.

Modules:

    server              a server on an address, from its start to its end
    app                 routes, errors, checks and limits around the runs
    http                requests, responses, login and limits
    api                 the routes, one module per family
    charts              what charts show: groups, bins, fewer points
    report              a view as one HTML file
    tensorboards        real TensorBoards over chosen runs
    run_source          the runs that are served, read in threads
    work_queues         threads that answer requests
    answer_cache        responses kept while the runs stay as they are
    watch               logs that grow
    live_stream         changes sent to open pages
    page_vocabulary     the words that server and page share
    static_files        the files of the page
    openapi             the description of the API
    background_service  the process that keeps TensorBoards without `runfold serve`
"""
