"""Options, checks, errors, files, threads and compiling: tools of all packages, which know nothing of the game."""
