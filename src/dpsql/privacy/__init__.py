"""What is promised: values and theorems. No I/O, no randomness, no SQL."""
