import argparse

import lightning
import torch
from lightning.pytorch.loggers import CSVLogger
from torch.utils.data import DataLoader, TensorDataset


class Line(lightning.LightningModule):
    def __init__(self, lr):
        super().__init__()
        self.layer = torch.nn.Linear(4, 1)
        self.lr = lr

    def training_step(self, batch, index):
        inputs, targets = batch
        loss = (self.layer(inputs) - targets).square().mean()
        self.log("train_loss", loss)
        return loss

    def validation_step(self, batch, index):
        inputs, targets = batch
        self.log("val_loss", (self.layer(inputs) - targets).square().mean())

    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), self.lr)


parser = argparse.ArgumentParser()
parser.add_argument("--lr", type=float)
parser.add_argument("--seed", type=int)
parser.add_argument("--out")
args = parser.parse_args()
lightning.seed_everything(args.seed, verbose=False)
inputs = torch.randn(64, 4)
data = DataLoader(TensorDataset(inputs, inputs.sum(1, keepdim=True)), batch_size=16)
trainer = lightning.Trainer(
    max_epochs=3,
    accelerator="cpu",
    logger=CSVLogger(args.out),
    log_every_n_steps=2,
    enable_checkpointing=False,
    enable_progress_bar=False,
    enable_model_summary=False,
)
trainer.fit(Line(args.lr), data, data)
