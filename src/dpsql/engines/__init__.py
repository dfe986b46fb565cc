"""WHERE ROWS LIVE. One engine, one file; an engine runs text and knows nothing of noise or budgets."""
