"""How symmetric a function, an environment or a trained agent is, and where it is not."""
