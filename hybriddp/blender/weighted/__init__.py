"""Finding and measuring a list with Gaussian noise, by everybody who opted in."""
