"""Values that nobody would send on purpose, and some that somebody might."""

import math

WHOLE = [0, 1, -1, 2, 7, 100, 2**31, 2**63, -(2**63), 10**20, 10**30]
REAL = [0.0, 1.0, -1.0, 0.5, 1e-30, 1e30, 1e308, math.inf, -math.inf, math.nan]
TEXT = ["", " ", "x", "None", "none", "best", "../..", "/", "/dev/null", "a" * 3000, "é", "\x00"]
TEXT += ["craft", "approx", "cuda", "cpu:0", "os:system", "-", "--", "=", "{}", "%s", "nan"]
OTHER = [None, True, False, [], {}, [1], {"a": 1}, [[[]]], "text"]


def junk(rng):
    """Any of them."""
    kind = rng.choice([WHOLE, REAL, TEXT, OTHER, OTHER])
    value = rng.choice(kind)
    if rng.random() < 0.03:
        value = nested(rng.choice([5, 100, 400]))
    return value


def nested(depth):
    """Lists in lists."""
    value = []
    for _ in range(depth):
        value = [value]
    return value


def word(rng):
    """A word of a command line."""
    value = junk(rng)
    if rng.random() < 0.5:
        value = rng.choice([*WHOLE, *REAL])
    return str(value)[:3000].replace("\x00", "?")
