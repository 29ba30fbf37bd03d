"""The ledger: append-only rows that decide what was paid and drawn."""
