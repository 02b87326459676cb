"""The page of an atlas: where each claim stands, what is confirmed, and the registry."""

from dataclasses import replace

import numpy as np
import pytest
from made_conditions import GROWING, study_over
from made_evidence import claim

from ablate.analysis.claims import judge_claims
from ablate.analysis.compare import compare
from ablate.base.errors import AblateError
from ablate.core.improving_side import ImprovingSide
from ablate.core.names import CONFIRM
from ablate.core.names import differences as differences_in
from ablate.core.replication import UnpairedRuns
from ablate.core.rows import list_as_text
from ablate.records.folder import COMPARISONS, StudyFolder
from ablate.records.tables import read_csv
from ablate.report.atlas.page import PAGE_FILE, PICTURE, Card, sorted_claims, write_atlas
from ablate.report.atlas.published import published_studies, published_study
from ablate.report.atlas.registry import REGISTRY, RegistryRow, registry_row
from ablate.report.atlas.tables import claims_table, is_out_of_reach, verdicts_in_conditions
from ablate.report.words import level_word

NAMES = ("short", "middle", "long")
BEATS = claim("beats", metric="score")
BEATS_BY_FAR = claim("beats", by=0.035, metric="score")
MATCHES = claim("matches", by=0.2, metric="score")
NOISY = [(0.011,), (-0.012,), (0.013,), (-0.012,), (0.012,)]


def publish(results, name, differences=GROWING, form="every", claims=(BEATS, BEATS_BY_FAR), only=NAMES):
    """A folder with the report of a study over conditions, of which only some were trained."""
    names = NAMES[: len(differences[0])]
    made = study_over(differences, form, names=names, claims=list(claims))
    trials = made.trials[made.trials["task"].isin(only)]
    environment = {"commit": "abc123", "command": f"ablate run {name}.yaml"}
    facts = replace(
        made.facts, study=name, question="Is it?", environment=environment, reported="2026-11-24T01:00"
    )
    differs = [item for item in differences_in(name) if item != CONFIRM]
    facts = replace(facts, provenance=replace(facts.provenance, differs=differs))
    folder = StudyFolder(results, name)
    evidence = replace(made, facts=facts, trials=trials)
    folder.save_evidence(evidence)
    folder.save_verdicts({COMPARISONS: compare(evidence)})
    return folder


def id_of(study, published):
    """The id by which a claim of a study is cited."""
    return f"{study}.{published.hash[:6]}"


def listing(folder, claims):
    """A file of what tests decide, with one statement on two lines, from which these claims follow."""
    path = folder / "by_construction.csv"
    path.write_text(f'says,because,test,claims\nIt says.,"It is\nso.",tests/test_it.py::test_it,{claims}\n')
    return path


def test_a_claim_keeps_its_id_whatever_claims_stand_beside_it(tmp_path):
    listings = ([BEATS, MATCHES], [MATCHES, BEATS], [BEATS_BY_FAR, BEATS], [BEATS])
    ids = set()
    for number, claims in enumerate(listings):
        study = published_study(publish(tmp_path / str(number), "made", claims=claims))
        ids |= {published.id for published in study.claims if published.claim == BEATS}
    assert ids == {id_of("made", BEATS)}


def test_a_claim_that_says_something_else_has_another_id(tmp_path):
    (first,) = published_study(publish(tmp_path / "first", "made", claims=[BEATS])).claims
    (other,) = published_study(publish(tmp_path / "other", "made", claims=[BEATS_BY_FAR])).claims
    assert first.id != other.id


def test_a_claim_has_a_verdict_in_each_condition(tmp_path):
    holds, fails = published_study(publish(tmp_path, "made")).claims
    assert (holds.id, fails.id) == (id_of("made", BEATS), id_of("made", BEATS_BY_FAR))
    assert verdicts_in_conditions(holds) == "short: supported, middle: supported, long: supported"
    assert verdicts_in_conditions(fails) == "short: refuted, middle: inconclusive, long: supported"
    assert fails.row.task == "short"


def test_a_study_without_conditions_has_one(tmp_path):
    (only, _) = published_study(publish(tmp_path, "made", [[0.01], [0.02], [0.03]], "each")).claims
    assert verdicts_in_conditions(only) == "short"


def test_the_difference_of_a_claim_names_its_condition_where_there_are_several(tmp_path):
    several = published_study(publish(tmp_path / "several", "made"))
    alone = published_study(publish(tmp_path / "alone", "made", [[0.01], [0.02], [0.03]], "each"))
    differences = {}
    for name, study in (("several", several), ("alone", alone)):
        for row in claims_table(study, study.claims).rows:
            differences.setdefault(name, []).append(row["difference"])
    assert all(difference.endswith("] in short") for difference in differences["several"])
    assert all(difference.endswith("]") for difference in differences["alone"])


@pytest.mark.parametrize(
    ("again", "only", "expected"),
    [
        (GROWING, NAMES, "confirmed"),
        (GROWING, ("short",), "confirmed"),
        (-GROWING, NAMES, "not confirmed"),
        (-GROWING, ("long",), "not confirmed"),
    ],
)
def test_a_claim_is_confirmed_where_the_conditions_that_were_trained_again_say_so(
    tmp_path, again, only, expected
):
    folder = publish(tmp_path, "made", claims=[BEATS])
    publish(tmp_path, "made@confirm", again, claims=[BEATS], only=only)
    (found,) = published_study(folder).claims
    assert found.confirmation == expected
    assert found.verdict == ("supported" if expected == "confirmed" else "not confirmed")


def test_a_condition_that_was_trained_again_has_the_verdict_of_fresh_seeds(tmp_path):
    folder = publish(tmp_path, "made", claims=[BEATS, BEATS_BY_FAR])
    publish(tmp_path, "made@confirm", -GROWING, claims=[BEATS, BEATS_BY_FAR], only=("middle", "long"))
    beats, beats_by_far = published_study(folder).claims
    # One condition refutes the second claim, and was not trained again.
    assert (beats.verdict, beats_by_far.verdict) == ("not confirmed", "not repeated")
    assert verdicts_in_conditions(beats) == (
        "short: supported, middle: supported (fresh seeds: refuted), long: supported (fresh seeds: refuted)"
    )
    assert verdicts_in_conditions(beats_by_far) == (
        "short: refuted, middle: inconclusive, long: supported (fresh seeds: refuted)"
    )


def test_a_card_and_the_table_of_open_claims_have_the_level_of_the_registry(tmp_path):
    publish(tmp_path, "good", claims=[BEATS, MATCHES])
    publish(tmp_path, "noisy", NOISY, "each", claims=[BEATS, MATCHES])
    write_atlas(tmp_path, "# Atlas")
    page = (tmp_path / PAGE_FILE).read_text()
    levels = {row["id"]: f"{level_word(float(row['level']))} %" for row in read_csv(tmp_path / REGISTRY)}
    assert f"Difference \\[{levels[id_of('good', BEATS)]}\\]" in page
    (line,) = [line for line in page.splitlines() if id_of("noisy", BEATS) in line]
    assert f"| {levels[id_of('noisy', BEATS)]} |" in line


@pytest.mark.parametrize(("how", "expected"), [("condition=short", "confirmed"), ("seeds=3", "not repeated")])
def test_a_confirmation_may_be_of_some_conditions_and_of_nothing_else(tmp_path, how, expected):
    folder = publish(tmp_path, "made", claims=[BEATS])
    publish(tmp_path, f"made@confirm,{how}", claims=[BEATS], only=("short",))
    (found,) = published_study(folder).claims
    assert found.confirmation == expected


@pytest.mark.parametrize(("again", "expected"), [("short", "confirmed"), ("long", "not repeated")])
def test_a_refuted_claim_is_confirmed_by_the_condition_that_refutes_it_alone(tmp_path, again, expected):
    folder = publish(tmp_path, "made", claims=[BEATS_BY_FAR])
    publish(tmp_path, f"made@confirm,condition={again}", claims=[BEATS_BY_FAR], only=(again,))
    (found,) = published_study(folder).claims
    assert (found.row.verdict, found.confirmation) == ("refuted", expected)


@pytest.mark.parametrize(
    ("claimed", "expected"),
    [
        (claim("beats", metric="score"), "not confirmed"),
        (claim("beats", by=0.2, metric="score"), "confirmed"),
    ],
)
def test_one_condition_keeps_a_claim_from_being_supported_and_refutes_it_alone(tmp_path, claimed, expected):
    folder = publish(tmp_path, "made", claims=[claimed])
    # Again on fresh seeds: certain in the last condition, wide open in the others.
    wide_open = np.array([[0.1], [-0.1], [0.15], [-0.15], [0.0]])
    again = np.where(np.array(NAMES) == "long", GROWING, wide_open)
    publish(tmp_path, "made@confirm", again, claims=[claimed])
    (found,) = published_study(folder).claims
    assert (found.confirmation, len(found.repeated_in)) == (expected, 3)


@pytest.mark.parametrize(("later", "expected"), [(GROWING, "confirmed"), (-GROWING, "not confirmed")])
def test_conditions_may_be_confirmed_one_after_another(tmp_path, later, expected):
    folder = publish(tmp_path, "made", claims=[BEATS])
    publish(tmp_path, "made@confirm,condition=long", claims=[BEATS], only=("long",))
    before = published_study(folder)
    publish(tmp_path, "made@confirm,condition=short", later, claims=[BEATS], only=("short",))
    after = published_study(folder)
    assert [one.confirmation for one in (*before.claims, *after.claims)] == ["confirmed", expected]
    assert [{*one.repeated_in} for one in (*before.claims, *after.claims)] == [{"long"}, {"long", "short"}]
    assert {one.first.condition for one in before.repeated} == {"long"}
    assert {one.first.condition for one in after.repeated} == {"long", "short"}


def test_a_condition_that_two_confirmations_trained_counts_once(tmp_path):
    folder = publish(tmp_path, "made", claims=[BEATS])
    both = ("short", "long")
    publish(tmp_path, "made@confirm,condition=long,condition=short", claims=[BEATS], only=both)
    before = published_study(folder)
    publish(tmp_path, "made@confirm,condition=short", claims=[BEATS], only=("short",))
    after = published_study(folder)
    assert len(after.repeated) == len(before.repeated) == 2
    assert after.confirming_runs == before.confirming_runs


def test_what_nobody_repeated_is_not_decided(tmp_path):
    (found,) = published_study(publish(tmp_path, "made", claims=[BEATS])).claims
    assert found.confirmation == found.verdict == "not repeated"


def test_the_registry_has_what_the_evidence_gives(tmp_path):
    folder = publish(tmp_path, "made")
    write_atlas(tmp_path, "# Atlas")
    rows = read_csv(tmp_path / REGISTRY)
    assert [*rows[0]] == [*RegistryRow.__dataclass_fields__]
    judged = judge_claims(folder.evidence())
    for column in ("claim", "verdict", "diff", "ci_low", "ci_high", "n"):
        assert rows[0][column] == str(judged[column][0]), column
    assert (rows[0]["commit"], rows[0]["trained"]) == ("abc123", "2026-11-24T01:00")
    assert (rows[0]["seeds"], rows[0]["stands"]) == ("0–4", "not repeated")
    assert rows[1]["conditions"] == "short refuted; middle inconclusive; long supported"


@pytest.mark.parametrize("what", ["dirty", "ablate_dirty"])
def test_a_commit_from_which_files_differed_is_marked(tmp_path, what):
    study = published_study(publish(tmp_path, "made"))
    environment = {**study.facts.environment, what: True}
    changed = replace(study, facts=replace(study.facts, environment=environment))
    assert registry_row(changed, study.claims[0]).commit == "abc123-dirty"


def test_runs_that_say_no_seeds_have_none_in_the_registry(tmp_path):
    study = published_study(publish(tmp_path, "made"))
    unpaired = replace(study, facts=replace(study.facts, replication=UnpairedRuns()))
    assert registry_row(unpaired, study.claims[0]).seeds == ""


def test_a_card_says_which_sides_were_still_improving(tmp_path):
    study = published_study(publish(tmp_path, "made", claims=[BEATS, MATCHES]))
    sides = [ImprovingSide("a", "short"), ImprovingSide("a", "long")]
    every = [ImprovingSide(variant, name) for variant in ("baseline", "a") for name in NAMES]

    def card(*improving):
        claims = []
        for one, sides in zip(study.claims, improving, strict=True):
            claims.append(replace(one, row=replace(one.row, improving=list_as_text(sides))))
        return Card(study, claims)

    some = card(sides, [])
    assert [row.get("improving", "") for row in some.table.rows] == ["a (short, long)", ""]
    assert not some.all_improving
    assert card(every, every).all_improving


def test_each_claim_stands_on_a_card_or_in_one_of_the_tables(tmp_path):
    publish(tmp_path, "good", claims=[BEATS, MATCHES])
    publish(tmp_path, "good@confirm", claims=[BEATS, MATCHES])
    publish(tmp_path, "noisy", NOISY, "each", claims=[BEATS])
    statements = listing(tmp_path, id_of("good", MATCHES))
    write_atlas(tmp_path, "# Atlas", statements)
    page = (tmp_path / PAGE_FILE).read_text()
    repeats, cards, tests, out_of_reach = page.split("\n## ")[1:][0], *page.split("\n## ")[-3:]
    assert "| Comparisons: better or worse, and again so | 3 of 3 |" in repeats
    assert id_of("good", BEATS) in cards
    assert id_of("good", MATCHES) not in cards
    assert f"| It says. | It is so. | tests/test_it.py::test_it | {id_of('good', MATCHES)} |" in tests
    assert id_of("noisy", BEATS) in out_of_reach
    assert "seeds needed" in out_of_reach
    assert "(noisy/report.md)" in out_of_reach
    assert "## noisy" not in page


def test_a_claim_is_out_of_reach_where_it_takes_many_times_its_seeds(tmp_path):
    publish(tmp_path, "noisy", NOISY, "each", claims=[BEATS])
    (study,) = published_studies(tmp_path)
    (found,) = study.claims
    assert is_out_of_reach(found)
    few = replace(found, row=replace(found.row, reason="open seeds=20"))
    many = replace(found, row=replace(found.row, reason="open seeds=21"))
    assert (is_out_of_reach(few), is_out_of_reach(many)) == (False, True)
    assert is_out_of_reach(replace(found, row=replace(found.row, reason="examples")))
    assert not is_out_of_reach(replace(found, row=replace(found.row, reason="rate rate=0.01")))


def test_a_folder_under_another_name_is_refused_since_two_would_share_their_ids(tmp_path):
    publish(tmp_path, "made")
    publish(tmp_path / "elsewhere", "made").path.rename(tmp_path / "copy")
    with pytest.raises(
        AblateError, match=r"copy: holds the report of made, .* call the folder made, or move it"
    ):
        write_atlas(tmp_path, "# Atlas")


def test_a_statement_on_a_claim_that_no_study_makes_is_refused_with_its_line(tmp_path):
    publish(tmp_path, "made", claims=[BEATS])
    known = id_of("made", BEATS)
    statements = listing(tmp_path, f"{known} made.0a1b2c made")
    with pytest.raises(AblateError) as refused:
        write_atlas(tmp_path, "# Atlas", statements)
    unknown, study = str(refused.value).splitlines()
    where = f"{statements}:3: claims: is the id of no claim of this atlas"
    assert unknown.startswith(f"{where}; given 'made.0a1b2c'")
    assert study.startswith(f"{where}; given 'made'")
    assert not (tmp_path / PAGE_FILE).exists()


@pytest.mark.parametrize("separator", [", ", '""'])
def test_ids_that_are_parted_by_something_else_than_a_blank_are_refused(tmp_path, separator):
    publish(tmp_path, "made")
    known = id_of("made", BEATS)
    statements = listing(tmp_path, f'"{known}{separator}{id_of("made", BEATS_BY_FAR)}"')
    with pytest.raises(AblateError, match=f"Did you mean '{known}'") as refused:
        write_atlas(tmp_path, "# Atlas", statements)
    assert str(refused.value).startswith(f"{statements}:3: claims: is the id of no claim of this atlas")


@pytest.mark.parametrize("name", [PAGE_FILE, PICTURE, REGISTRY])
def test_a_file_of_the_users_stays(tmp_path, name):
    publish(tmp_path, "made")
    (tmp_path / name).write_text("mine")
    with pytest.raises(AblateError, match=f"{name}: was not written by"):
        write_atlas(tmp_path, "# Atlas")
    assert (tmp_path / name).read_text() == "mine"


def test_the_page_is_written_again_over_its_own(tmp_path):
    publish(tmp_path, "made")
    first = write_atlas(tmp_path, "# Atlas").read_bytes()
    assert write_atlas(tmp_path, "# Atlas").read_bytes() == first
    names = {path.name for path in tmp_path.glob("*.*")}
    assert names == {PAGE_FILE, PICTURE, REGISTRY}


@pytest.mark.parametrize(
    ("seconds", "hours"), [(120, "took 2 hours of one core"), (50, "1 hour of"), (3, "")]
)
def test_the_page_says_how_long_all_trainings_took(tmp_path, seconds, hours):
    for name in ("made", "made@confirm"):
        folder = publish(tmp_path, name, claims=[BEATS])
        evidence = folder.evidence()
        assert len(evidence.trials) == 30
        folder.save_evidence(replace(evidence, trials=evidence.trials.assign(train_seconds=seconds)))
    page = write_atlas(tmp_path, "# Atlas").read_text()
    assert ("trainings behind these claims" in page) == bool(hours)
    assert hours in page


def test_a_study_whose_claims_are_out_of_reach_keeps_its_card_where_a_comparison_repeats(tmp_path):
    publish(tmp_path, "good", claims=[BEATS])
    publish(tmp_path, "good@confirm", claims=[BEATS])
    (study,) = published_studies(tmp_path)
    (found,) = study.claims
    far = replace(found, row=replace(found.row, verdict="inconclusive", reason="open seeds=500"))
    repeated = sorted_claims([replace(study, claims=[far])], [])
    assert ([claim for _, claim in repeated.on_cards], repeated.out_of_reach) == ([far], [])
    once = sorted_claims([replace(study, claims=[far], repeated=[])], [])
    assert (once.on_cards, [claim for _, claim in once.out_of_reach]) == ([], [far])
