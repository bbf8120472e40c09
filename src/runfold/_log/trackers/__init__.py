"""Forwards logged data to experiment trackers such as W&B and MLflow.

Modules:

    followed_files  event files followed for the trackers
    known_trackers  one class per tracker
    wandb_tracker   W&B after `wandb.init(sync_tensorboard=True)`
    wandb_mirror    a W&B run that mirrors one run of Runfold
    wandb_values    values of event files as W&B's types
"""
