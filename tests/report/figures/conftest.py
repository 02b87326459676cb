import pytest
import synthetic
from reports import MADE

from ablate.analysis.claims import judge_claims
from ablate.analysis.compare import compare
from ablate.pipeline.judging import judge_evidence
from ablate.records.folder import StudyFolder
from ablate.report.figures.theme import theme
from ablate.report.section import ReportData
from ablate.report.sections import pictures, shown


@pytest.fixture(scope="session")
def whole(evidence):
    """What the report of `evidence` is made from."""
    return ReportData(evidence, compare(evidence), judge_claims(evidence))


@pytest.fixture(scope="session")
def few():
    """What the report of a study of one variant is made from."""
    evidence = synthetic.study(
        factors={"model.norm": {"layer": 0.0, "batch": -0.03}},
        named={},
        claims=False,
        num_seeds=3,
        placebo=False,
    )
    return ReportData(evidence, compare(evidence), judge_claims(evidence))


@pytest.fixture(scope="session")
def of_study(whole, tmp_path_factory):
    """The pictures of a study of `reports.MADE` by name, or, without one, of `evidence`."""
    found = {"": {picture.name: picture for picture in pictures(shown(whole))}}

    def of_study(study=""):
        if study not in found:
            folder = StudyFolder.at(tmp_path_factory.mktemp("made") / study)
            folder.save_evidence(MADE[study]())
            found[study] = {picture.name: picture for picture in pictures(shown(judge_evidence(folder)))}
        return found[study]

    return of_study


@pytest.fixture(scope="session")
def drawn(of_study):
    """A figure as it is on the page, by the name of its picture and its study; each is drawn once."""
    found = {}

    def drawn(name, study=""):
        if (name, study) not in found:
            with theme():
                figure = of_study(study)[name].draw()
                figure.set_dpi(72)  # That of files.
                figure.draw_without_rendering()
            found[name, study] = figure
        return found[name, study]

    return drawn
