"""The data and the options that the boosting programs share."""

import numpy as np

OPTIONS = {"system": False, "code": False}


def make_data(seed=0):
    random = np.random.RandomState(seed)
    inputs = random.rand(100, 3)
    return inputs, inputs.sum(1) + random.rand(100) / 10
