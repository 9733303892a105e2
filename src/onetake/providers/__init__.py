"""The providers' side of onetake: the wire, and one adapter per provider."""
