"""Anonymous logs as others proposed them, and the attacks on them."""
