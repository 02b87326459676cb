"""`--confirm`, and studies named `STUDY@confirm`: what a study found, again on seeds that it has not seen."""

from ablate.core.feature import Feature


class ConfirmFeature(Feature, narrow="again:confirming"):
    """Of a study that confirms another, what that one decided is left."""
