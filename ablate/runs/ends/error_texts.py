"""Texts of errors in columns of any name, as programs and shells write them."""

from __future__ import annotations

import re

from ablate.core.ending import NOT_A_NUMBER, OF_TRAINING

_WHO = (
    r"(?:[\w.]*error|cuda|gpu|hip|mps|host|system|container|process|job|step|run|ran|went|killed|died|was|by)"
)
_ERROR = re.compile(
    "|".join(
        (
            r"(?:[\w.]+: )*[\w.]*(?:Error|Exception|KeyboardInterrupt)\b(?=:| ?\(|$)",
            r"Traceback \(most recent call last\)",
            r"(?:error|fatal|abort\w*|exception)\s*[:!]|uncaught |panicked at",
            rf"(?:{_WHO}\W+){{0,4}}(?:out[ _-]of[ _-]memory|oom(?:[ _-]?kill\w*)?)\b|not enough memory",
            r"(?:cuda|cudnn|cublas|nccl|hip|xla)\w* error\b|device-side assert",
            r"killed(?=\W*$|\W*[:(\d]| (?:by|after|at|on|due|with|because|process|job)\b)",
            r"terminated$|segmentation fault|segfault|bus error|core dumped",
            r"(?:received |got |caught )(?:sig(?:kill|term|segv|abrt|int)|signal \d+)\b",
            rf"(?:\w+ ){{0,3}}{OF_TRAINING}.{{0,20}}{NOT_A_NUMBER}",
            rf"{NOT_A_NUMBER}.{{0,20}}(?:{OF_TRAINING}|\b(?:encountered|detected|values?)\b)",
            r"(?:process |job |run |training )?exit(?:ed)? (?:with )?(?:exit )?(?:code|status) -?[1-9]",
            r"(?:job |run )?(?:timed out|time ?limit)\b|due to time limit",
        )
    ),
    re.IGNORECASE,
)
"""The beginning of a text that names an error which ended a run."""
_SURVIVED = re.compile(
    r"\b(?:re-?tr[iy]\w*|re-?r[ua]n\w*|resum\w+|restart\w*|recover\w*|skipp\w+|ignor\w+|fixed|caught|but|then)\b",
    re.IGNORECASE,
)
"""Words for a run that went on."""


def is_error_text(text: str) -> bool:
    """Returns whether a text names an error, and not that the run went on after it."""
    bare = text.strip().strip("\"'")
    return _ERROR.match(bare) is not None and _SURVIVED.search(bare) is None
