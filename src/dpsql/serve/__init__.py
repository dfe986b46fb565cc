"""The door over a UNIX socket: a process that owns data and ledger, and clients that hold neither."""
