"""Keeps TensorBoard from importing TensorFlow, which takes longer than most programs."""

import sys
import types

# TensorBoard uses its own replacement for TensorFlow where this module exists.
sys.modules["tensorboard.compat.notf"] = types.ModuleType("tensorboard.compat.notf")
