"""Runfold makes TensorBoard logs useful after training."""

__version__ = "0.1.0"
