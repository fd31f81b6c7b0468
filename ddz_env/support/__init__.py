"""Game-independent tools for all packages: options, checks, errors, files, threads and compilation."""
