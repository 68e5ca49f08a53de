"""DrQ-v2 and SAC. They are handed networks and never ask which group or task they have."""
