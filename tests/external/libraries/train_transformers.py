import argparse

import torch
from transformers import BertConfig, BertForSequenceClassification, Trainer, TrainingArguments, set_seed

parser = argparse.ArgumentParser()
parser.add_argument("--learning_rate", type=float)
parser.add_argument("--seed", type=int)
parser.add_argument("--output_dir")
args = parser.parse_args()
set_seed(args.seed)
tokens = torch.randint(0, 16, (64, 8))
rows = [{"input_ids": row, "labels": int(row[0] > 7)} for row in tokens]
size = {
    "vocab_size": 16,
    "hidden_size": 16,
    "num_hidden_layers": 1,
    "num_attention_heads": 2,
    "intermediate_size": 32,
}
model = BertForSequenceClassification(BertConfig(**size, max_position_embeddings=8))
trainer = Trainer(
    model,
    TrainingArguments(
        args.output_dir,
        learning_rate=args.learning_rate,
        seed=args.seed,
        num_train_epochs=2,
        eval_strategy="epoch",
        per_device_train_batch_size=16,
        report_to="none",
        save_strategy="no",
        logging_steps=2,
        use_cpu=True,
    ),
    train_dataset=rows,
    eval_dataset=rows,
)
trainer.train()
trainer.log_metrics("eval", trainer.evaluate())
trainer.save_metrics("eval", trainer.evaluate())
