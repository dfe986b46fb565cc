"""One aggregate, one file: the slots it needs, and its value as an expression over them."""
