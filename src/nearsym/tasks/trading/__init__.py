"""Daily trading of shares: prices, features, accounts, the environment, and what it is held to."""
