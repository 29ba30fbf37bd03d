"""The steps of a release as Prefect's tasks, and how a run that fails says why."""
