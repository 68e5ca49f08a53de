"""`python -m nearsym`, the same as `nearsym`."""

from nearsym.cli.main import main

main()
