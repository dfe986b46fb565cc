"""The command line: arguments in, the public door, text out."""
