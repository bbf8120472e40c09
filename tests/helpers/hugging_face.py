"""Hugging Face datasets, without access to the network or the user's cache."""

import os
from pathlib import Path

os.environ["HF_HUB_OFFLINE"] = os.environ["HF_DATASETS_OFFLINE"] = "1"

import datasets

__all__ = ["datasets", "load"]


def load(path: Path, cache: Path) -> datasets.Dataset:
    """Return the rows of a Parquet file."""
    return datasets.load_dataset("parquet", data_files=str(path), cache_dir=str(cache))["train"]
