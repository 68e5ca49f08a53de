"""Four tasks of dm_control, each with its symmetry and with variants that break it."""
