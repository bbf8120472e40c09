"""Keeps TensorBoard from importing TensorFlow, which takes seconds and is not needed."""

import sys
import types

# TensorBoard uses its own replacement for TensorFlow where this module exists.
sys.modules["tensorboard.compat.notf"] = types.ModuleType("tensorboard.compat.notf")
