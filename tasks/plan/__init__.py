"""Plan a release before anything is spent."""
