"""transformers: a tiny Bert, trained, evaluated and trained again."""

import os

import torch
from transformers import (
    BertConfig,
    BertForSequenceClassification,
    Trainer,
    TrainingArguments,
    set_seed,
)

os.environ["TENSORBOARD_LOGGING_DIR"] = "logs"
set_seed(1)
torch.set_num_threads(1)
config = BertConfig(
    vocab_size=32,
    hidden_size=8,
    num_hidden_layers=1,
    num_attention_heads=2,
    intermediate_size=8,
    max_position_embeddings=16,
)
rows = [
    {"input_ids": torch.randint(0, 32, (8,)), "labels": torch.tensor(index % 2)}
    for index in range(32)
]
arguments = TrainingArguments(
    output_dir="out",
    num_train_epochs=2,
    per_device_train_batch_size=4,
    logging_steps=2,
    eval_strategy="epoch",
    report_to=["tensorboard"],
    seed=1,
    use_cpu=True,
    save_strategy="no",
    disable_tqdm=True,
)
trainer = Trainer(
    BertForSequenceClassification(config),
    arguments,
    train_dataset=rows,
    eval_dataset=rows[:8],
    compute_metrics=lambda result: {"accuracy": (result[0].argmax(1) == result[1]).mean()},
)
trainer.train()
trainer.evaluate()
trainer.train()
