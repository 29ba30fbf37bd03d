"""Local reports of a bounded number, on a grid."""
