"""What people have spent and how far their budget reaches: for the operator, and for everybody."""
