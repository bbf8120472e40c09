"""What holds for all tests. Warnings are errors by pyproject.toml."""

from hypothesis import settings

# Named here, their fixtures are known to all tests, and their checks say what they compared.
pytest_plugins = ["eventfiles", "pages", "stores"]

# A busy machine makes an example slow; that says nothing about the code.
settings.register_profile("runfold", deadline=None)
settings.load_profile("runfold")
