"""Forwards logged data to experiment trackers such as W&B and MLflow.

Modules:

    followed_files  event files followed for the trackers
    known_trackers  one class per tracker
    wandb_tracker   W&B after `wandb.init(sync_tensorboard=True)`
"""
