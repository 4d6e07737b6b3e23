from __future__ import annotations

import pytest

from toolyard.core.errors import LinkError
from toolyard.links.addresses import (
    Reach,
    check_link,
    is_loopback,
    is_loopback_name,
    is_public,
)

PRIVATE = """
    127.0.0.1 127.1.2.3 10.0.0.1 172.16.0.1 192.168.1.1 169.254.169.254 100.64.0.1 0.0.0.0
    192.0.0.1 198.18.0.1 224.0.0.1 255.255.255.255 ::1 :: fe80::1 fe80::1%eth0 fc00::1 fd12::1
    fec0::1 ff02::1 ::ffff:127.0.0.1 ::ffff:10.0.0.1 ::ffff:169.254.169.254 64:ff9b::7f00:1
    ::127.0.0.1 ::10.0.0.1 ::ffff:0:127.0.0.1 ::ffff:0:a9fe:a9fe 0:0:0:0:0:0:7f00:1
    64:ff9b::a9fe:a9fe 64:ff9b:1::1 2002:7f00:1:: 2002:a00:1:: 2002:c0a8:101::1 2001:db8::1
""".split()
PUBLIC = ["8.8.8.8", "93.184.216.34", "2606:4700::1111", "64:ff9b::808:808", "::ffff:8.8.8.8"]


@pytest.mark.parametrize("address", PRIVATE)
def test_addresses_of_this_machine_and_its_surroundings_are_not_public(address: str) -> None:
    assert not is_public(address)


@pytest.mark.parametrize("address", PUBLIC)
def test_addresses_of_the_open_network_are_public(address: str) -> None:
    assert is_public(address)


@pytest.mark.parametrize(
    "address",
    ["127.0.0.1", "127.9.8.7", "::1", "::ffff:127.0.0.1", "::127.0.0.1", "::ffff:0:127.0.0.1"],
)
def test_loopback_is_known_in_every_spelling(address: str) -> None:
    assert is_loopback(address)
    assert is_loopback_name(address)


@pytest.mark.parametrize("address", ["8.8.8.8", "10.0.0.1", "::", "::ffff:10.0.0.1", "2001:db8::1"])
def test_other_addresses_are_not_loopback(address: str) -> None:
    assert not is_loopback(address)


async def test_a_public_server_cannot_send_a_login_to_a_private_address() -> None:
    reach = Reach("https://8.8.8.8/mcp")

    assert await reach.addresses("https", "8.8.4.4", 443) == ["8.8.4.4"]
    for host in ("127.0.0.1", "169.254.169.254", "::1", "2130706433", "0x7f.1", "localhost"):
        with pytest.raises(LinkError, match=r"not on the open network|not known"):
            await reach.addresses("https", host, 443)
    with pytest.raises(LinkError, match="without https"):
        await reach.addresses("http", "8.8.4.4", 80)


async def test_a_local_server_may_have_a_local_issuer() -> None:
    reach = Reach("http://127.0.0.1:7000/mcp")

    assert await reach.addresses("http", "127.0.0.1", 9000) == ["127.0.0.1"]
    with pytest.raises(LinkError, match="without https"):
        await reach.addresses("http", "10.0.0.1", 80)


@pytest.mark.parametrize(
    "url",
    [
        "https://example.com/authorize?a=b&c=%20",
        "http://127.0.0.1:9000/authorize",
        "http://localhost/x",
        "http://[::1]:1/x",
    ],
)
def test_a_page_that_a_browser_may_open_is_given_back(url: str) -> None:
    assert check_link(url) == url


@pytest.mark.parametrize(
    "url",
    [
        "",
        "javascript:alert(1)",
        "file:///x",
        "http://example.com/",
        "https://u@example.com/",
        "https://exa mple.com/",
        "https://example.com/\n",
        "https://example.com/`x`",
        'https://example.com/"x',
        "https://-oProxyCommand=x/",
        "https://example.com:99999/",
        "https://[::1/",
        "https://" + "a" * 9000,
        "https:example.com",
    ],
)
def test_a_page_that_no_browser_may_open_is_refused(url: str) -> None:
    with pytest.raises(LinkError):
        check_link(url)
