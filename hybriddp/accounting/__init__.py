"""What happened to people's data, as typed events, and what that costs them."""
