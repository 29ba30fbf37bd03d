"""Studies on synthetic people; no release imports anything from here."""
