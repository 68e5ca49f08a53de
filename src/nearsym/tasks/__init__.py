"""Worlds to learn in: control tasks, trading, and environments of one's own."""
