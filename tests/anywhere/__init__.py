"""The tests that can depend on their surroundings, run in many: ``make test-anywhere``."""
