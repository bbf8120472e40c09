"""Drop-in replacements for other packages: change only the import.

Modules:

    tensorboard          EventAccumulator and EventMultiplexer
    tbparse              SummaryReader
    tensorboard_reducer  functions and command
    tensorboardX         SummaryWriter
"""
