"""The direction that a metric's name tells: of more names it tells none than it has words that do."""

import pytest

from ablate.core.directions import doubtful_direction, usual_direction


@pytest.mark.parametrize(
    "name",
    [
        *("acc", "val/accuracy", "testF1", "top-1-acc", "rouge_1-f1", "text_to_image_recall", "dropout_acc"),
        *("acc_improvement", "rank-1 acc", "test-acc", "r2", "- test - acc"[2:]),
        *("neg_mean_squared_error", "test_neg_root_mean_squared_error", "mean_test_neg_log_loss"),
        *(
            "neg_median_absolute_error",
            "neg_brier_score",
            "neg_max_error",
            "split0_test_neg_mean_absolute_error",
        ),
        *("neg_mean_poisson_deviance", "negMeanSquaredError"),
    ],
)
def test_names_of_which_more_is_better(name):
    assert usual_direction(name) == "max"
    assert doubtful_direction(name, "max") == ""
    assert "wrong way round" in doubtful_direction(name, "min")


@pytest.mark.parametrize(
    "name",
    ["loss", "val-loss", "error_rate", "loss_gap", "latency_std", "time_to_first_token", "steps_to_loss"],
)
def test_names_of_which_less_is_better(name):
    assert usual_direction(name) == "min"
    assert "wrong way round" in doubtful_direction(name, "max")


@pytest.mark.parametrize(
    "name",
    [
        *("negative_mse", "minus_mse", "neg_loss", "neg_accuracy", "-loss", "−mse", "inverse_accuracy"),
        *("1-acc", "1 − f1", "val/1-acc", "one_minus_acc", "1_minus_auc"),
        *(
            "acc_drop",
            "drop_in_acc",
            "accuracyDrop",
            "accuracy_decrease",
            "acc_diff",
            "delta_acc",
            "loss_change",
        ),
        *("acc_gap", "score_degradation", "acc_forgetting", "acc_std", "reward_variance", "acc_sem"),
        *("steps_to_accuracy", "epochs_to_acc", "steps until acc 0.9", "std_test_neg_log_loss"),
        *(
            "error_reduction",
            "mae_improvement",
            "log_loss_improvement",
            "loss_decrease",
            "error_correction_rate",
        ),
        *("time_to_accuracy", "acc_loss", "size"),
    ],
)
def test_names_that_tell_no_direction(name):
    assert usual_direction(name) is None
    assert doubtful_direction(name, "max") == doubtful_direction(name, "min") == ""
