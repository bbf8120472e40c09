"""The checkout that the tests belong to."""

from pathlib import Path

ROOT = Path(__file__).parents[2]
