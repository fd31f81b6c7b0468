"""The parts that all experiments share: options, tasks, saved results, tables, and the registry of names."""
