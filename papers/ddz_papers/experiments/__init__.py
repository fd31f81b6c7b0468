"""What all experiments share: options, tasks, saved results, tables, and the list of experiments by name."""
