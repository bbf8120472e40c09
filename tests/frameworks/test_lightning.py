"""Lightning's TensorBoardLogger with Runfold's writer."""


def test_fit_logs_the_same(train):
    pair = train("lightning_fit")
    assert pair.swapped.logs == pair.original.logs
    assert ("scalar", "train/loss_epoch") in pair.swapped.logs["logs/lightning_logs/version_0"]
