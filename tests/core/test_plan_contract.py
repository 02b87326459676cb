"""What every plan promises the driver. A subclass makes its plan, afresh, for each test."""

import pytest
from searching import GRID, SWEEP, prepared, search_of, train

from ablate.core.events import FixedPlan, Progress
from ablate.core.record import Record
from ablate.stages.search.plan import SearchPlan

PRUNED = SWEEP + "  pruner: {name: median, n_startup_trials: 2, n_warmup_steps: 1}\n"


class PlanContract:
    """The promises. `study` is what is planned, and `make` gives two plans that do not know of each other."""

    study = SWEEP

    def make(self, experiment):
        raise NotImplementedError

    @pytest.fixture
    def experiment(self, tmp_path):
        path = tmp_path / "study.yaml"
        path.write_text(self.study)
        return prepared(path)

    @pytest.fixture
    def plan(self, experiment):
        return self.make(experiment)

    def follow(self, plan, experiment, records, backwards=False):
        """What is asked for, round by round, with what the plan then says may follow."""
        rounds = []
        while asked := plan.next_cells(records):
            rounds.append((list(asked), plan.left))
            cells = {cell.id: cell for cell in asked}
            for cell in reversed(cells.values()) if backwards else cells.values():

                def decide(step, metrics, cell=cell):
                    told = plan.should_prune(Progress(cell.id, step, metrics))
                    assert isinstance(told, bool)
                    return told and cell.trial.prunable

                records[cell.id] = train(experiment, cell.trial, decide)
            assert len(rounds) < 1000, "the plan does not end"
        return rounds

    def test_it_ends_and_stays_at_its_end(self, plan, experiment):
        records = {}
        assert self.follow(plan, experiment, records)
        assert plan.left == 0
        assert not plan.next_cells(records)

    def test_what_is_left_is_never_too_little(self, plan, experiment):
        rounds = self.follow(plan, experiment, {})
        trainings = [len({cell.id for cell in asked}) for asked, _ in rounds]
        for number, (_, left) in enumerate(rounds):
            assert sum(trainings[number + 1 :]) <= left

    def test_a_trial_that_has_a_record_is_not_asked_for_again(self, plan, experiment):
        seen = set()
        for asked, _ in self.follow(plan, experiment, {}):
            new = {cell.id for cell in asked}
            assert not new & seen
            seen |= new

    def test_the_order_in_which_trials_finish_changes_nothing(self, experiment):
        def names(rounds):
            return [[cell.id for cell in asked] for asked, _ in rounds]

        forth = self.follow(self.make(experiment), experiment, {})
        back = self.follow(self.make(experiment), experiment, {}, backwards=True)
        assert names(forth) == names(back)

    def test_a_second_run_asks_for_the_trials_of_the_first(self, experiment):
        records = {}
        first = self.follow(self.make(experiment), experiment, records)
        again = []
        plan, known = self.make(experiment), dict[str, Record]()
        while cells := plan.next_cells(known):
            again.append([cell.id for cell in cells])
            known |= {trial_id: records[trial_id] for trial_id in again[-1]}
        assert again == [[cell.id for cell in cells] for cells, _ in first]


class TestFixedPlan(PlanContract):
    def make(self, experiment):
        return FixedPlan(experiment.cells())


class TestSearchPlan(PlanContract):
    def make(self, experiment):
        search = search_of(experiment)
        return SearchPlan(search.spec, [search], lambda cells: None)


class TestGridSearchPlan(TestSearchPlan):
    study = GRID


class TestPrunedSearchPlan(TestSearchPlan):
    study = PRUNED


class TestSearchesTogether(PlanContract):
    def make(self, experiment):
        searches = [search_of(experiment, name) for name in ("a", "b")]
        return SearchPlan(searches[0].spec, searches, lambda cells: None)
