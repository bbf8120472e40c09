"""Real TensorBoards over chosen runs: started, kept, watched and ended, each in its own process."""
