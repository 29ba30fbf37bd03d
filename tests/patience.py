"""How long tests wait for what may never happen; nothing that is merely slow may end a wait."""

PATIENCE = 600  # seconds, on a machine with ten times as much to do as it can
