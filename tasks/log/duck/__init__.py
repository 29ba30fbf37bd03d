"""DuckDB, the embedded engine: its instances, and how a statement is stopped."""
