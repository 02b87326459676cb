"""What a run says while it trains."""

import io

from rich.console import Console

from ablate.core.events import Asked, Finished
from ablate.core.record import Record
from ablate.core.trial import Cell, Trial
from ablate.execution.progress import MOST_LINES, Display


def lines(total: int, failing: int | None = None) -> list[str]:
    """Of a run of `total` trials without a terminal."""
    console = Console(file=io.StringIO(), width=200)
    with Display(console, "toy", "accuracy", jobs=2) as display:
        display(Asked(total))
        for seed in range(total):
            trial = Trial(f"{seed:016x}", {}, seed)
            record = Record.of(trial, "failed" if seed == failing else "completed", metrics={"accuracy": 0.5})
            display(Finished(Cell("baseline", "", seed, trial, f"baseline seed {seed}", {}), record))
    return console.file.getvalue().splitlines()  # type: ignore[attr-defined]


def test_a_small_run_has_a_line_for_each_trial() -> None:
    first, *found = lines(9)
    assert first == "toy: 9 trials to train on 2 workers."
    assert [line.partition(" ")[0] for line in found] == [f"[{done}/9]" for done in range(1, 10)]


def test_a_large_run_has_few_lines_and_names_every_failure() -> None:
    _, *found = lines(1000, failing=503)
    assert len(found) <= MOST_LINES + 2
    assert found[0].startswith("[1/1000] baseline seed 0: accuracy 0.5")
    assert found[-1].startswith("[1000/1000] ")
    assert [line.partition(" (")[0] for line in found if "failed" in line] == [
        "[504/1000] baseline seed 503: failed: "
    ]
