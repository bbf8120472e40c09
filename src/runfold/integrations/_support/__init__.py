"""The shared base of the adapters. Nothing here is public.

Modules:

    framework_import     error messages for a missing or incompatible framework
    framework_run        the run of a logger or callback, which can be called in any order
    run_owner            the base class of loggers and callbacks that track one run
    recorded_run         runs that are written in one step after they have ended
    tensor_values        values in the format of `tf.summary`
    boosting_run         the base class of callbacks for gradient boosting libraries
    keras_model          data read from a Keras model: configuration, layers and weights
    lightning_callbacks  the callbacks that Lightning finds through an entry point
    sacred_folder        the runs that Sacred's FileStorageObserver saved
    sacred_import        the conversion of these runs to event files
"""
