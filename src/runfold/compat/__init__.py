"""Drop-in replacements for other packages: change only the import.

Each package here is named after the one that it replaces.
"""
