"""Walking a product's steps as a flow, and asking a person on the way."""
