"""How true a declared symmetry is: of an environment, and of an agent trained in it."""
