"""How far one person moves an answer: global, local, smooth and elastic. One notion, one file."""
