"""``ddz`` and ``python -m ddz_training``: the command line."""

from ddz_training.apps.cli import main as main

if __name__ == "__main__":
    main()
