"""What a run tells its workers of the trials that they train."""

from harness import TOY_STUDY, prepare

from ablate.session.workers import reference


def test_shares_of_gpus_are_for_trials_on_a_gpu(write):
    study = prepare(write(f"{TOY_STUDY}resources: {{gpus: 0.5}}\n"))
    on_cpu = reference(study)
    assert (on_cpu.device, on_cpu.gpus) == ("cpu", None)
