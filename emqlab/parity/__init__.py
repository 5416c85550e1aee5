"""Cases: one file format for lessons, tests and the command line, and the comparison of both executors."""
