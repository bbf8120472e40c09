"""Hugging Face datasets, kept from the network and from the user's own cache."""

import os
from pathlib import Path

os.environ["HF_HUB_OFFLINE"] = os.environ["HF_DATASETS_OFFLINE"] = "1"

import datasets

__all__ = ["datasets", "load"]


def load(path: Path, cache: Path) -> datasets.Dataset:
    """The rows of a Parquet file."""
    return datasets.load_dataset("parquet", data_files=str(path), cache_dir=str(cache))["train"]
