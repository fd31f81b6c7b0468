"""``python -m benchmarks.forms``."""

from benchmarks.forms.side_by_side import main

if __name__ == "__main__":
    main()
