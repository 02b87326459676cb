"""`ablate eval`: what kept weights show, on the study's own task and on others, without training."""

from ablate.core.feature import Feature


class EvaluateFeature(Feature, kept="stage:of_report"):
    """Numbers and attention maps in the study's folder, which its report shows."""
