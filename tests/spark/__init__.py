"""The second engine, on a real Spark: what it finds is what DuckDB finds.

`make test-spark` brings pyspark; without it, or without Java, these tests say what is missing.
"""
