"""Local randomizers: their laws as whole words, for one device and for millions of clients."""
