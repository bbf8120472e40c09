"""Experiment trackers such as W&B and MLflow, which receive what the writers log.

Modules:

    followed_files  event files followed on behalf of trackers
    known_trackers  one class per tracker
    wandb_tracker   W&B after `wandb.init(sync_tensorboard=True)`
"""
