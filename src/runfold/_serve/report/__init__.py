"""A view of the page saved as one HTML file that needs no server.

Modules:

    report_file       the report as one HTML file
    page_view         a view, parsed from its URL
    view_requests     the requests that a view makes
    recorded_answers  the responses to them
    standalone_page   the page with these responses embedded
"""
