"""What makes jobs move: load, decide, record, act. Every act starts after what permits it was committed."""
