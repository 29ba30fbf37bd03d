"""The second engine: the same steps on a Spark cluster that exists."""
