"""Commands that show runs in the browser or in TensorBoard, and organise experiments."""
