"""Colours of variants differ for every eye, and no two variants look alike."""

from itertools import combinations

import numpy as np
import pytest

from ablate.report.figures.facets import MAX_LINES, line_styles
from ablate.report.figures.theme import LEVELS, PALETTE, colour

# Machado, Oliveira & Fernandes 2009, "A Physiologically-based Model for Simulation of Color Vision Deficiency",
# table 1, severity 1: on linear RGB.
SIGHTS = {
    "normal": np.eye(3),
    "protanopia": [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]],
    "deuteranopia": [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.01182, 0.04294, 0.968881]],
    "tritanopia": [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.3039]],
}  # fmt: skip
XYZ = np.array([[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]])


def lab(code: str, sight: str) -> np.ndarray:
    """CIELAB under D65 of a colour as a kind of sight has it."""
    parts = np.array([int(code[i : i + 2], 16) / 255 for i in (1, 3, 5)])
    linear = np.where(parts <= 0.04045, parts / 12.92, ((parts + 0.055) / 1.055) ** 2.4)
    seen = np.clip(np.array(SIGHTS[sight]) @ linear, 0, 1)
    x, y, z = np.cbrt(np.maximum(XYZ @ seen / [0.9505, 1.0, 1.089], 0.008856))
    return np.array([116 * y - 16, 500 * (x - y), 200 * (y - z)])


@pytest.mark.parametrize("sight", SIGHTS)
def test_any_two_colours_of_lines_differ(sight):
    colours = [colour("ink"), *(colour(name) for name in LEVELS)]
    for one, other in combinations(colours, 2):
        assert np.linalg.norm(lab(one, sight) - lab(other, sight)) >= 12, (one, other)


def test_no_two_variants_look_alike():
    styles = line_styles([f"v{i}" for i in range(MAX_LINES)])
    looks = {(style.colour, style.dashes) for style in styles.values()}
    assert len(looks) == MAX_LINES + 1


def test_each_colour_has_a_shade_for_dark_paper():
    assert all(light != dark for light, dark in PALETTE.values())
