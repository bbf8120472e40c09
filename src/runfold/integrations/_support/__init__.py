"""The shared base of the adapters. Nothing here is public.

Modules:

    framework_import     clear messages for a framework that is missing or too different
    framework_run        the run behind a logger or callback, whatever the order of its calls
    run_owner            what loggers and callbacks that track one run have in common
    recorded_run         runs written in one step after they ended
    tensor_values        values in the format of `tf.summary`
    boosting_run         the run behind the callback of a gradient boosting library
    keras_model          what is read from a Keras model: configuration, layers and weights
    lightning_callbacks  the callbacks that Lightning finds through an entry point
    sacred_folder        the runs that Sacred's FileStorageObserver saved
    sacred_import        their conversion to event files
"""
