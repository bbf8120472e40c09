"""Commands that tabulate, query, diff, restore and export runs."""
