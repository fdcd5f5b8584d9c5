"""The command line: one module per command; the only prints, the only exit codes."""
