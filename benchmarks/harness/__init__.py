"""Holds onetake, and what people use instead, against a provider that keeps a truthful bill.

`python -m benchmarks.harness faults|speed|in-flight PEER...` prints a JSON line for each run. A peer is attached by a
command with one more word: `init` makes its schema, `enqueue` records N chains and exits, `worker` drains them and
exits once every chain is settled, `report` prints a line for each chain. See `peer.py` for what the words are told.
"""
