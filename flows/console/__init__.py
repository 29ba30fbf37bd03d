"""What commands share: the one place that prints, options, progress, and what they spare."""
