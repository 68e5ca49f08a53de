"""Gymnasium's MuJoCo tasks with the symmetries they have, and variants that break them."""
