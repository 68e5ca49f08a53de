"""A craft with two thrusters in the plane: a symmetric world in a few lines of arithmetic.

All of D4 moves it exactly, to the last bit, in states and in pictures; variants break a known part
of that, and nothing but numpy is needed.
"""
