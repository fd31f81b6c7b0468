"""The power of the tests: sixty faults (``FAULTS.md``), each planted in a clone, and whether the tests catch it."""
