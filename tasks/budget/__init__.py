"""What people have spent, may spend, and are charged."""
