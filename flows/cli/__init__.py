"""The `hybriddp` command: one module for each family of commands."""
