from ipaddress import ip_address

import pytest

from reasonix.core.error import ToolFault
from reasonix.net.guard import check_literal, refusal


@pytest.mark.parametrize(
    "text",
    [
        "10.0.0.1",
        "172.16.0.1",
        "172.31.255.255",
        "192.168.1.1",
        "169.254.169.254",
        "100.64.0.1",
        "100.100.100.200",
        "168.63.129.16",
        "192.0.0.192",
        "0.0.0.0",
        "0.1.2.3",
        "224.0.0.1",
        "255.255.255.255",
        "240.0.0.1",
        "::",
        "fc00::1",
        "fd00:ec2::254",
        "fe80::1",
        "fec0::1",
        "ff02::1",
        "::ffff:10.0.0.1",
        "::ffff:169.254.169.254",
        "::10.0.0.1",
        "64:ff9b::a9fe:a9fe",
        "64:ff9b:1::1",
        "2002:0a00:0001::",
    ],
)
def test_addresses_of_inner_networks_are_refused(text: str) -> None:
    assert refusal(ip_address(text)) is not None


@pytest.mark.parametrize(
    "text",
    [
        "127.0.0.1",
        "127.8.8.8",
        "::1",
        "::ffff:127.0.0.1",
        "8.8.8.8",
        "172.32.0.1",
        "100.128.0.1",
        "198.18.0.1",
        "2606:4700::1",
        "64:ff9b::808:808",
    ],
)
def test_loopback_and_public_addresses_may_be_reached(text: str) -> None:
    assert refusal(ip_address(text)) is None


def test_the_refusal_names_the_host_and_the_way_on() -> None:
    with pytest.raises(ToolFault) as caught:
        check_literal("0xa9fea9fe", ip_address("169.254.169.254"))
    assert caught.value.code == "denied"
    assert "0xa9fea9fe (169.254.169.254)" in str(caught.value)
    with pytest.raises(ToolFault):
        check_literal("metadata.google.internal", None)
    check_literal("example.com", None)
