"""JSON values drawn at random, as Python brings them: exact and inexact numbers, any writable text."""

from hypothesis import strategies as st

writable = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=20)
whole = st.integers(-(10**308), 10**308)
decimals = st.decimals(allow_nan=False, allow_infinity=False, min_value=-(10**9), max_value=10**9)
finite = st.floats(allow_nan=False, allow_infinity=False)
values = st.recursive(
    st.none() | st.booleans() | whole | decimals | finite | writable,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(writable, inner, max_size=4),
    max_leaves=12,
)
