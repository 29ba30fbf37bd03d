"""Studies: the papers' figures and our own questions, run on synthetic users."""
