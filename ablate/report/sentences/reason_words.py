"""The reasons of verdicts in words."""

from collections.abc import Mapping

from ablate.core.reason import Reason
from ablate.report.words import codes, message

_NAMING_THE_UNIT = (
    ("reasons", "few"),
    ("reasons", "ceiling"),
    ("reasons", "examples"),
    ("inconclusive", "few"),
)
"""The file and code of the sentences that name what repeats a training."""
UNSAID = ("open", "both_signs", "examples", "folds")
"""The reasons that the answer leaves out: nothing is wrong with such a comparison."""
MAX_NEEDED = 1000
"""The largest number of seeds that is called needed; above it, more than these are."""
Numbers = Mapping[str, float]


def because(reason: str, *, short: bool = False, unit: str = "seed") -> str:
    """Returns a reason in the form that tables keep, `code name=number …`, in words.

    An older table has the words itself. short: in the few words of the answer. unit: what repeats a training, as
    `Replication.run_name` says.
    """
    parsed = Reason.parse(reason)
    if parsed is None:
        return reason
    if short and parsed.code in UNSAID:
        return ""
    code, numbers = _sentence(parsed, unit)
    file = "inconclusive" if short and code in codes("inconclusive") else "reasons"
    units = {"unit": unit} if (file, code) in _NAMING_THE_UNIT else {}
    if file == "inconclusive":
        return message(f"inconclusive.{code}", **units)
    return message(f"reasons.{code}", **numbers, **units)


def _sentence(reason: Reason, unit: str) -> tuple[str, Numbers]:
    """Returns the code of the sentence for a reason, and its numbers."""
    numbers = {name: int(value) if value.is_integer() else value for name, value in reason.numbers.items()}
    match reason.code:
        case "few":
            return _few(numbers)
        case "open" if numbers:
            return _needed(numbers)
        case "unstable" if "counted" in numbers:
            code = "unstable_all" if "others" in numbers else "unstable_uncounted"
            return code, {"diverged": numbers["diverged"]}
        case "groups" if numbers:
            return "groups_of_spread", {}
        case "unseen":
            is_untested = numbers.pop("untested", 0)
            return "unseen_untested" if is_untested else "unseen", numbers
        case "seedless" if unit != "seed":
            return "seedless_runs", {}
    return reason.code, numbers


def _few(numbers: Numbers) -> tuple[str, Numbers]:
    """Returns the sentence on too few of what `numbers` counts: n runs, rates, processes or sources."""
    [counted] = [name for name in numbers if name != "least"]
    return "few" if counted == "n" else f"few_{counted}", numbers


def _needed(numbers: Numbers) -> tuple[str, Numbers]:
    """Returns the sentence on how many seeds, runs or documents are needed."""
    [(counted, needed)] = numbers.items()
    if needed > MAX_NEEDED:
        return f"open_many_{counted}", {"most": MAX_NEEDED}
    return f"open_{counted}", numbers
