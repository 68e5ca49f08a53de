"""Learning before and after, side by side: the table in the docs is that of the results."""

import numpy as np

from study_results import made


def test_the_table_is_that_of_the_results(script):
    page = script.PAGE.read_text("utf-8")
    assert script.BLOCK.search(page)
    assert script.filled(page) == page


def test_runs_with_other_settings_do_not_count(script):
    about = {"task": "cartpole-swingup", "obs": "state", "curve": [1.0, 2.0]}
    runs = [made("none", 0, **about), made("none", 1, settings={"network.hidden": 8}, **about)]
    assert list(script.after(runs, "state")) == [("none", 0)]
    assert script.after(runs, "pixels") == {}


def test_ends_are_the_last_three_evaluations_up_to_the_frames_that_both_have(script):
    curve = {10_000 * n: float(n) for n in range(1, 9)}
    (end,) = script.ends({("none", 3): curve, ("exact", 3): {}}, "none")
    np.testing.assert_array_equal(end, [4, 5, 6])
    assert script.said([end, end + 1]) == "5, 6 | 2"
