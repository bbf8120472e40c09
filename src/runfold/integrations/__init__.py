"""Loggers and callbacks for training frameworks, on top of `rf.track`: one file per framework.

Each module imports its framework, which Runfold does not install. Without it, importing the
module raises an ImportError that says what to install. This package imports none of them.

`_support` contains what they are built on.

To add a framework, write `NAME.py` with the class that the framework expects, and add a program
in `tests/frameworks/programs` with its test.
"""
