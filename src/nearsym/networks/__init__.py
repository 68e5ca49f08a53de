"""Encoders, actors and critics built from a Symmetry; the only room that knows the models."""
