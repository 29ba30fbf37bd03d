"""What a release would give, predicted from public data before anything is spent."""
