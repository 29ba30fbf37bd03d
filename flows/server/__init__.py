"""Prefect's server and its worker: started, guarded by a door, and gone with the command."""
