"""What every package stands on: array types, compiled functions, threads, settings and progress."""
