"""Commands that show runs in the browser, and TensorBoards on them."""
