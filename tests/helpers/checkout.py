"""The checkout that contains the tests."""

from pathlib import Path

ROOT = Path(__file__).parents[2]
