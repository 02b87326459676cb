from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from ablate.report.drawings import plan_drawings
from ablate.report.ticks import fix_ticks
from matplotlib.figure import Figure

from ablate.analysis.compare import compare
from ablate.core.evidence import Evidence
from ablate.report import layout, style


def pixels(figure: Figure) -> np.ndarray:
    figure.set_dpi(100)
    figure.canvas.draw()
    return np.asarray(figure.canvas.buffer_rgba()).astype(int)


@pytest.mark.parametrize("width", [style.WIDE, style.NARROW])
def test_fixed_ticks_look_like_live_ones(evidence: Evidence, width: float) -> None:
    for drawing in plan_drawings(evidence, compare(evidence)):
        with style.context():
            live, fixed = drawing.draw(width), drawing.draw(width)
            fix_ticks(fixed)
            # Pixels may round to another value, where a mark stands between two of them.
            different = np.abs(pixels(live) - pixels(fixed)).max(axis=2) > 64
            assert different.mean() < 1e-4, drawing.name
        assert not any(axis.get_visible() for ax in fixed.axes for axis in (ax.xaxis, ax.yaxis))


@pytest.mark.parametrize("limits", [(0.0, 1.0), (1.0, 0.0), (-0.3, 0.2), (5e5, 9e5)])
def test_only_ticks_in_view_are_fixed_and_a_common_factor_stays(limits: tuple[float, float]) -> None:
    def drawn(finish: Callable[[Figure], None]) -> np.ndarray:
        with style.context():
            figure = layout.figure(3.0, 2.0)
            ax = layout.axes(figure, 0.5, 0.5, 2.0, 1.0)
            ax.set_xlim(limits)
            ax.set_ylim(0.1, 0.3)
            finish(figure)
            return pixels(figure)

    different = np.abs(drawn(fix_ticks) - drawn(lambda figure: None)).max(axis=2) > 64
    assert different.mean() < 1e-4
