"""What ships with casewise: the starter cases."""
