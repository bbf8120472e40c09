"""HTTP: access to the server, and how fields, columns and errors are encoded.

Modules:

    access           host names and secrets of the server
    token_files      secrets in files that only their owner can read
    security         checks before every route
    connections      open connections, counted separately before login
    limits           limits on what a client can use
    endpoint         the endpoint table, filled by a decorator
    request_fields   validation of a request's fields
    json_response    JSON for the page
    arrow_response   columns as Arrow streams
    error_responses  errors as responses
    content_type     media type of an image or audio clip, from its bytes
    pinned_tls       encryption between two processes that know one certificate
    regex_process    regular expressions in a process that can be killed
"""
