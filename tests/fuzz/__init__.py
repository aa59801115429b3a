"""Random cases of four kinds, that must never end in a traceback, a hang or a wrong answer.

`damage.py` breaks files, `answers.py` compares queries with brute force, `commands.py` runs random command
lines and `kills.py` kills processes. A case is made from a seed and a number alone, so that it can be run
again.
`make test` runs a few seconds of each kind, `make fuzz MINUTES=20` as long as it is told.
"""
