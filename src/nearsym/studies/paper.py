"""The numbers of the paper (Park et al. 2025), typed from its tables, to stand beside ours.

Each table has its caption as its source. `±` is the half-width of the 95 % interval as printed.
"""

from typing import NamedTuple


class Printed(NamedTuple):
    """A number as the paper prints it."""

    value: float
    half: float | None = None
    """What follows ±; None where nothing does."""

    def __str__(self) -> str:
        return f"{self.value:g}" if self.half is None else f"{self.value:g} ± {self.half:g}"


class Row(NamedTuple):
    """One row of the table of control tasks: returns by model."""

    clean: dict[str, Printed]
    noise: dict[str, Printed]


TABLE_1_SOURCE = (
    "Paper, Table 1: total episode reward on 50 rollouts for the best policy in the original and "
    "noisy domains; ± is the 95 % interval over these rollouts, of one run."
)
NOISE_TRAINED_SOURCE = (
    "Paper, appendix D: total episode reward on 50 rollouts for the best policy when trained on "
    "noisy inputs and tested in the noisy domain; ± is the 95 % interval."
)
TABLE_2_SOURCE = (
    "Paper, Table 2: test results on the stock trading dataset; ± is the 95 % interval over 5 runs."
)

MODELS = ("approx", "exact", "none")
"""The columns of the tables of control tasks."""


def _returns(*numbers: tuple[float, float]) -> dict[str, Printed]:
    return {model: Printed(*number) for model, number in zip(MODELS, numbers, strict=True)}


TABLE_1: dict[tuple[str, str | None], Row] = {
    ("acrobot-swingup", None): Row(
        _returns((389, 11), (522, 21), (309, 22)), _returns((344, 14), (402, 22), (190, 14))
    ),
    ("acrobot-swingup", "gravity"): Row(
        _returns((471, 17), (382, 15), (358, 23)), _returns((369, 15), (218, 10), (202, 12))
    ),
    ("cartpole-swingup", None): Row(
        _returns((876, 0.2), (881, 0.1), (881, 0.1)), _returns((778, 22), (855, 0.6), (572.5, 25))
    ),
    ("cartpole-swingup", "repeat_action"): Row(
        _returns((859, 0.4), (749, 13), (855, 0.6)), _returns((624, 6), (523, 21), (192, 5))
    ),
    ("ball_in_cup-catch", None): Row(
        _returns((961, 0), (958, 0), (970, 0)), _returns((882, 7.7), (783, 24), (0, 0))
    ),
    ("ball_in_cup-catch", "gravity"): Row(
        _returns((969, 0), (966, 0), (959, 0)), _returns((888, 13.2), (0, 0), (1.8, 1.8))
    ),
    ("reacher-hard", None): Row(
        _returns((903, 33), (950, 15), (519, 68)), _returns((778, 41), (745, 44), (247, 52))
    ),
    ("reacher-hard", "reflect_action"): Row(
        _returns((757, 55), (707, 59), (243, 58)), _returns((659, 42), (217, 41), (82, 29))
    ),
}

NOISE_TRAINED: dict[tuple[str, str | None], dict[str, Printed]] = {
    ("ball_in_cup-catch", None): _returns((971, 1.7), (977, 3.8), (914, 7.9)),
    ("ball_in_cup-catch", "gravity"): _returns((973, 2.7), (952, 5.7), (942, 10)),
}


class Portfolio(NamedTuple):
    """One row of the trading table."""

    final_value: Printed
    """In millions."""
    annual_return: Printed
    """In per cent."""
    sharpe: Printed


TABLE_2: dict[str, Portfolio] = {
    "approx ST": Portfolio(Printed(1.489, 0.16), Printed(12.0, 3.4), Printed(0.63, 0.1)),
    "approx T": Portfolio(Printed(1.428, 0.04), Printed(10.6, 3.8), Printed(0.60, 0.1)),
    "exact ST": Portfolio(Printed(1.411, 0.15), Printed(10.3, 3.4), Printed(0.62, 0.2)),
    "exact T": Portfolio(Printed(1.307, 0.18), Printed(7.8, 4.3), Printed(0.50, 0.3)),
    "none": Portfolio(Printed(1.378, 0.05), Printed(9.6, 1.3), Printed(0.62, 0.1)),
    "uniform": Portfolio(Printed(1.412), Printed(10.4), Printed(0.71)),
    "index": Portfolio(Printed(1.293), Printed(7.7), Printed(0.53)),
}


def best_models(row: dict[str, Printed]) -> list[str]:
    """The models that the paper prints in bold: those with the highest number of a row.

    >>> best_models(TABLE_1["cartpole-swingup", None].clean)
    ['exact', 'none']
    """
    highest = max(number.value for number in row.values())
    return [model for model, number in row.items() if number.value == highest]
