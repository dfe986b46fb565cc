"""The reader of SQL: text, tokens, and the grammar of expressions and queries, for `sql.parse`."""
