import json
import random

import click


@click.group()
def cli():
    pass


@cli.command()
@click.option("--dropout", type=float, default=0.1)
@click.option("--augment/--no-augment", default=True)
@click.option("--random-state", type=int, default=0)
def train(dropout, augment, random_state):
    rng = random.Random(random_state)
    click.echo(json.dumps({"event": "epoch", "epoch": 1, "metrics": {"val": {"auc": 0.80}}}))
    click.echo(
        json.dumps(
            {
                "event": "end",
                "epoch": 2,
                "metrics": {"val": {"auc": 0.85 + rng.gauss(0, 0.005) - (0 if augment else 0.02)}},
            }
        )
    )


cli()
