"""Curves with their bands, for papers, notebooks and the terminal."""
