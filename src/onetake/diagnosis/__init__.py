"""Is everything as it should be? What `onetake doctor` looks at, and what it says of it."""
