"""What a model is: hparams, graphs, embeddings, meshes."""

from __future__ import annotations

from runfold.log.writer import EventWriter


class Models(EventWriter):
    """The methods of SummaryWriter for these."""

    def add_hparams(self, hparam_dict: object, metric_dict: object = None) -> None:
        """To come."""
        raise NotImplementedError
