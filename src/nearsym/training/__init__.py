"""The loop, the replay, the log and the checkpoints."""
