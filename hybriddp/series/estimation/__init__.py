"""What a season's weeks say of each week's probabilities: post-processing of what was published."""
