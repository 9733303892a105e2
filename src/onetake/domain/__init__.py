"""The rules, pure: no clock, no chance, no I/O, no logging, no framework."""
