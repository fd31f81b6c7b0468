"""What every room stands on, and what knows nothing of the game: options, checks, errors, files, threads, compiling."""
