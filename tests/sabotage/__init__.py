"""The saboteur: kills, fuzzed values, hostile files and agents, full disks, other users.

``python -m tests.sabotage`` tries everything and prints the counts; ``docs/reference/trust.md`` says what is promised.
"""
