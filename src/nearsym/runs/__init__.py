"""From a configuration to a finished run; the only place where the rooms are put together."""
