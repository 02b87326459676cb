"""The mark of a run of which a pattern of its study has matched no line: another run would fare alike."""

from ablate.core.record import Record

_KEY = "unread"


def mark_unread(record: Record) -> None:
    """Marks the record of a run of which a pattern has read nothing."""
    record.environment[_KEY] = True


def is_unread(record: Record) -> bool:
    """Returns whether the record is that of a run of which a pattern has read nothing."""
    return _KEY in record.environment
