"""Loggers and callbacks for training frameworks, on top of `rf.track`: one file per framework.

Each module imports its framework, which Runfold does not install by default. If the framework is
missing, importing the module raises an ImportError that says what to install. This package imports
none of its modules. `_support` contains the code that the modules share.

To add a framework, write `NAME.py` with the class that the framework expects, and add a program
in `tests/frameworks/programs` with its test.
"""
