"""`ablate analyse`: verdicts on runs that exist, whoever made them, by the same judge and in the same report."""

from ablate.core.feature import Feature


class AnalyseFeature(Feature):
    """A command, and a section on how runs were compared."""
