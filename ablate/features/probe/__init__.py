"""`probe:` short runs before the study's trainings, to see that the seed and every factor change something."""

from collections.abc import Sequence
from typing import ClassVar

from ablate.core.feature import Feature


class ProbeFeature(
    Feature,
    grammar="stage:GRAMMAR",
    check="stage:check_probe",
    settles="stage:settles",
    settle="stage:settle",
    at_most="stage:at_most",
    plan="stage:commands",
):
    """It refuses a study before its trainings, and chooses nothing."""

    by_path: ClassVar[Sequence[str]] = ("probe",)
