"""What releases about people's numbers share."""
