"""`python -m venue`: the command line."""

from venue.cli import main

main()
