"""Commands that show runs in the browser or in TensorBoard, and organize experiments."""
