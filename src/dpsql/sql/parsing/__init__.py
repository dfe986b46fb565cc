"""The parser, taken apart: text, tokens, grammar, and what each node of sqlglot's tree becomes for `sql.parse`."""
