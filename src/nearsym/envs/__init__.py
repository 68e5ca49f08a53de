"""Gymnasium environments that declare their symmetry."""
