"""`python -m passepartout` is the command line."""
from passepartout.cli import main

main()
