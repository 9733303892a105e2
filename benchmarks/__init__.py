"""What onetake costs, measured against what its users would do otherwise; `./dev bench` runs it."""
