"""Runs in the browser: an HTTP API over the library's own calls, and the page that uses it."""
