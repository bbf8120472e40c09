"""The interfaces of other packages: switch by changing an import.

Modules:

    tensorboard          EventAccumulator and EventMultiplexer
    tbparse              SummaryReader
    tensorboard_reducer  its functions and its command
    tensorboardX         its SummaryWriter
"""
