"""What `make bench` runs: ratios taken in one run on one machine, and the token costs agents pay."""
