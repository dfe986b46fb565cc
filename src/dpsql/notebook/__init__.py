"""Magics of a notebook: `%load_ext dpsql`, `%dpsql demo`, then `%sql` and `%%sql`. See docs/tutorials/4-notebook.md."""
