"""HTTP: who may send which requests, and how fields, columns and errors are encoded.

Modules:

    access           the names that the server answers to, and its secrets
    token_files      secrets in files of their owner
    security         the checks before every route
    connections      open connections, strangers apart
    limits           what one client may take
    endpoint         the table of routes, made by a decorator
    request_fields   the fields of a request, checked
    json_response    JSON for the page
    arrow_response   columns as Arrow streams
    error_responses  what a client sees of an error
    content_type     the type of a picture or clip, from its bytes
    regex_process    regular expressions in a process that can be ended
"""
