"""What may stop a release: quality, forecasts, collapse, and checks before anybody pays."""
