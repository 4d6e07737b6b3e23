"""What is sealed can be read with its key alone, and tells when it is damaged."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolyard.core.errors import StoreError
from toolyard.records.secrets.sealing import new_key, seal, unseal

KEY = new_key()


@given(data=st.binary(max_size=300))
def test_what_is_sealed_comes_out_as_it_was(data: bytes) -> None:
    assert unseal(KEY, seal(KEY, data)) == data


def test_sealed_data_shows_nothing_and_differs_each_time() -> None:
    data = b"ghp_notARealTokenOnlyForThisTest0123" * 3
    first, second = seal(KEY, data), seal(KEY, data)

    assert first != second and data[:8] not in first
    assert first[16:32] != first[52:68]  # what repeats does not repeat


@pytest.mark.parametrize("at", [0, 20, -1])
def test_a_change_of_one_byte_is_noticed(at: int) -> None:
    sealed = bytearray(seal(KEY, b"something that matters"))
    sealed[at] ^= 1

    with pytest.raises(StoreError, match="damaged"):
        unseal(KEY, bytes(sealed))


def test_another_key_does_not_open_it() -> None:
    with pytest.raises(StoreError, match="key was replaced"):
        unseal(new_key(), seal(KEY, b"x"))
    with pytest.raises(StoreError):
        unseal(KEY, b"short")
