import numpy as np
import pytest
from matplotlib.colors import to_hex
from synthetic import study

from ablate.core.facts import BASELINE
from ablate.report.figures.curves import learning_curves
from ablate.report.figures.facets import Facets, line_styles
from ablate.report.figures.line_names import LETTERS
from ablate.report.figures.theme import colour, theme
from ablate.report.sections.curves import curves
from ablate.report.words import in_lines

REFERENCES = {"guessing", "solved"}
METRIC, LOSS = "validation-accuracy", "train-loss"


@pytest.fixture(scope="module")
def facets(evidence):
    return Facets.of(evidence.facts)


def by_title(figure):
    return {ax.get_title("left") or ax.get_title(): ax for ax in figure.axes}


def solid(ax):
    """The mean lines of a facet; those of runs that broke off are thinner."""
    return [line for line in ax.lines if line.get_linewidth() > 1 and line.get_marker() == "None"]


def bands(ax):
    return [band.get_paths()[0].vertices for band in ax.collections]


@pytest.mark.slow
def test_a_facet_for_each_factor_with_the_baseline_in_ink_and_none_for_the_placebo(drawn, facets):
    for name in (METRIC, LOSS):
        axes = by_title(drawn(name))
        assert list(axes) == list(facets.members)
        styles = line_styles([entry.variant for entry in facets.variants])
        for title, ax in axes.items():
            shown = [to_hex(line.get_color()) for line in solid(ax)]
            assert shown == [
                colour("ink"),
                *(styles[entry.variant].colour for entry in facets.members[title]),
            ]


@pytest.mark.slow
def test_each_line_has_its_name_at_its_end_in_its_colour(drawn, facets):
    styles = facets.styles
    for name in (METRIC, LOSS):
        figure = drawn(name)
        assert not figure.legends
        for title, ax in by_title(figure).items():
            members = facets.members[title]
            named = {text.get_text(): text for text in ax.texts}
            labels = {entry.variant: in_lines(entry.label, LETTERS, 2) for entry in members}
            assert set(named) - REFERENCES == {BASELINE, *labels.values()}
            ends = {line.get_color(): line.get_ydata()[-1] for line in solid(ax)}
            for entry in members:
                assert to_hex(named[labels[entry.variant]].get_color()) == styles[entry.variant].colour
            places = {text.get_color(): text.xy[1] for text in named.values() if text.get_color() in ends}
            assert sorted(places, key=places.get) == sorted(places, key=ends.get), "in the order of the ends"


@pytest.mark.slow
def test_a_line_is_the_mean_of_the_completed_runs_between_their_extremes(drawn, evidence):
    points = curves(evidence, "recall", "validation_accuracy")
    for variant, title in (("training.lr=0.3", "learning rate"), (BASELINE, "position")):
        mine = points[(points["variant"] == variant) & (points["status"] == "completed")]
        by_step = mine.groupby("step")["value"]
        ax = by_title(drawn(METRIC))[title]
        place = 0 if variant == BASELINE else 1
        line = solid(ax)[place]
        np.testing.assert_array_equal(line.get_xdata(), by_step.mean().index)
        np.testing.assert_allclose(line.get_ydata(), by_step.mean())
        edges = bands(ax)[place]
        for step, low, high in zip(by_step.min().index, by_step.min(), by_step.max(), strict=True):
            at_step = edges[edges[:, 0] == step][:, 1]
            assert (at_step.min(), at_step.max()) == pytest.approx((low, high))


@pytest.mark.slow
def test_a_run_that_diverged_does_not_flatten_the_others_and_ends_in_a_cross(drawn):
    axes = by_title(drawn(LOSS))
    assert all(ax.get_ylim()[1] < 10 for ax in axes.values())
    assert all(ax.get_yscale() == "log" for ax in axes.values())
    crosses = {title: [line for line in ax.lines if line.get_marker() == "X"] for title, ax in axes.items()}
    (cross,) = crosses.pop("learning rate")
    assert cross.get_xdata()[0] == 170, "its last finite value"
    assert cross.get_ydata()[0] <= axes["learning rate"].get_ylim()[1]
    assert sum(map(len, crosses.values())) == 1, "the run that failed"


@pytest.mark.slow
def test_nothing_is_drawn_over_the_names_of_lines(drawn):
    figure = drawn(METRIC)
    named = [text for ax in figure.axes for text in ax.texts]
    assert {text.get_text() for text in named} >= REFERENCES
    for text in named:
        box = text.get_window_extent()
        assert all(not box.overlaps(ax.bbox) for ax in figure.axes)
    words = {text.get_text() for ax in drawn(LOSS).axes for text in ax.texts}
    assert not words & REFERENCES


@pytest.mark.slow
def test_ticks_are_written_once_a_row_and_once_a_column(drawn):
    axes = drawn(METRIC).axes
    written = [any(label.get_visible() for label in ax.get_yticklabels()) for ax in axes]
    assert written == [True, False] * 3 + [True]
    assert sum(any(label.get_visible() for label in ax.get_xticklabels()) for ax in axes) == 2
    assert axes[0].get_ylim()[1] < 1.05, "no accuracy is higher"


def test_where_titles_name_the_variants_one_look_stands_for_all_of_them():
    factors = {"model.norm": {"layer": 0.0, "batch": 0.0}, "model.position": {"learned": 0.0, "none": 0.0}}
    evidence = study(factors=factors, named={}, claims=False, num_seeds=2, trouble=False)
    with theme():
        figure = learning_curves(
            curves(evidence, "recall", "validation_accuracy"), Facets.of(evidence.facts), "accuracy"
        )
    assert list(by_title(figure)) == ["batch norm", "no positions"]
    assert [[line.get_color() for line in solid(ax)] for ax in figure.axes] == [
        [colour("ink"), colour("blue")]
    ] * 2
    (legend,) = figure.legends
    assert [line.get_color() for line in legend.get_lines()] == [colour("ink"), colour("blue")]


@pytest.mark.parametrize("metric", ["validation_accuracy", "train_loss"])
def test_of_a_study_in_which_no_run_completed_every_run_is_a_broken_line(metric):
    evidence = study(
        factors={"model.norm": {"layer": 0.0, "batch": 0.0}}, named={}, claims=False, num_seeds=2
    )
    data = curves(evidence, "recall", metric).assign(status="diverged")
    facets = Facets.of(evidence.facts)
    with theme():
        figure = learning_curves(data, facets, "accuracy", evidence.facts.tasks[0].metrics["accuracy"])
        figure.draw_without_rendering()
    (ax,) = figure.axes
    crosses = [line for line in ax.lines if line.get_marker() == "X"]
    assert len(crosses) == 4
    assert all(0 < line.get_xdata()[0] < ax.get_xlim()[1] for line in crosses)
    assert data["value"].between(*ax.get_ylim()).all()
