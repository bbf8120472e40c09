"""A view of the page as one HTML file that needs no server.

Modules:

    report_file       a report as one HTML file
    page_view         a view, read from its URL
    view_requests     the requests that a view makes
    recorded_answers  the responses to them
    standalone_page   the page with these responses inside
"""
