"""How a value is released. One mechanism, one file: calibrate, event, release, accuracy."""
