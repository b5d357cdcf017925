"""Which addresses are refused, in every spelling, and which are not."""

import ipaddress

import pytest

from sam_tui.adapters.web import GuardedWeb
from sam_tui.adapters.web.urls import canonical
from sam_tui.core.authorization.network.addresses import parse_ipv4, refusal
from sam_tui.core.errors import ToolError
from tests.fakes.rows import every_row


def hosts(text: str) -> list[str]:
    """One host a word."""
    return text.split()


LOOPBACK = hosts("""
127.0.0.1 127.0.0.2 127.1 127.0.1 127.255.255.255 0x7f000001 0x7f.1 0x7F.0.0.1 0x7f.0x0.0x0.0x1
0x7f.0.1 017700000001 0177.0.0.1 0177.1 0177.0.0.01 2130706433 2130706434 127.0.0.1. 127.1.
00000177.0.0.1 0x0000007f.1 %31%32%37.0.0.1 １２７.0.0.1 127。0。0。1 ①27.0.0.1 [::1]
[0:0:0:0:0:0:0:1] [0000::0001] [::ffff:127.0.0.1] [::ffff:7f00:1] [::127.0.0.1] [::7f00:1]
[64:ff9b::127.0.0.1] [64:ff9b::7f00:1] [2002:7f00:1::] [2002:7f00:0001::1] [::ffff:0:127.0.0.1]
localhost LOCALHOST localhost. LocalHost foo.localhost a.b.localhost foo.localhost.
localhost.localdomain ip6-localhost
""")
UNSPECIFIED = hosts(
    "0.0.0.0 0 0x0 00 0.0 0.0.0.1 0.1.2.3 0.255.255.255 [::] [0::0] [::ffff:0.0.0.0]"
)
PRIVATE = hosts("""
10.0.0.1 10.255.255.255 10.1 0xa.1 012.0.0.1 167772161 0x0a000001 172.16.0.1 172.31.255.255 172.20.1
0xac100001 2886729729 192.168.0.1 192.168.1.1 192.168.255.255 192.168.1 0xc0a80001 3232235521
0300.0250.0.1 100.64.0.1 100.127.255.255 100.100.100.200 0x64400001 192.0.0.1 192.0.0.8 192.0.0.170
192.0.0.192 198.18.0.1 198.19.255.255 [fc00::1] [fd00::1] [fd12::1] [fd12:3456:789a::1] [fdff::]
[fd00:ec2::254] [fd20:ce::254] [fec0::1] [::ffff:10.0.0.1] [::ffff:192.168.1.1] [::ffff:a00:1]
[64:ff9b::10.0.0.1] [64:ff9b::c0a8:101] [64:ff9b:1::10.0.0.1] [64:ff9b:1::1] [2002:a00:1::]
[2002:c0a8:101::1] [::10.0.0.1] [2001:db8:0:0:0:5efe:10.0.0.1] [2600::5efe:a00:1]
[2600::200:5efe:10.0.0.1]
""")
LINK_LOCAL = hosts("""
169.254.169.254 169.254.0.1 169.254.170.2 169.254.255.255 0xa9fea9fe 2852039166 0251.0376.0251.0376
169.16689662 0xa9.0xfe.0xa9.0xfe 169.254.43518 [fe80::1] [fe80::a9fe:a9fe] [febf::1]
[::ffff:169.254.169.254] [::ffff:a9fe:a9fe] [64:ff9b::a9fe:a9fe] [2002:a9fe:a9fe::] 168.63.129.16
""")
RESERVED = hosts("""
192.0.2.1 198.51.100.7 203.0.113.9 192.88.99.1 224.0.0.1 224.0.0.251 239.255.255.250 232.1.1.1
240.0.0.1 255.255.255.255 0xffffffff 4294967295 [ff02::1] [ff0e::1] [ff05::2] [2001:db8::1]
[2001:db8:ffff::] [3fff::1] [3ffe::1] [5f00::1] [100::1] [4000::1] [e000::1] [2001::1] [2001:0:1::]
[2001:10::1] [2001:20::1] [2001:2::1] [2002::1] [2002:808:808::] [::ffff:8.8.8.8] [::8.8.8.8]
[::ffff:0:8.8.8.8] [64:ff9b:1::808:808]
""")
NAMES = hosts("""
metadata.google.internal METADATA.GOOGLE.INTERNAL metadata.google.internal. metadata.goog
a.metadata.goog metadata instance-data router intranet printer.local host.lan nas.home.arpa
vault.internal x.localdomain db.intranet kubernetes.default.svc.local a.onion wiki.corp nas.home
127.0.0.1.example.com 10.0.0.1.example.com www.192.168.1.7.example.com a.b.169.254.169.254.example.com
app-10-0-0-1.example.com 172-16-0-9.example.com 127-0-0-1-app.example.com x.fe80--1.example.com
0a000001.example.com app-0a000001.example.com 7f000001-app.example.com x.0xc0a80101.example.com
2852039166.example.com 017700000001.example.com 0x7f.0.0.1.example.com 0177-0-0-1.example.com
010.000.000.001.example.com
1.10.0.0.1.example.com fd00-1-2-3-4-5-6-7.example.com fd00--a.example.com
""")
MALFORMED = hosts("""
256.1.1.1 1.2.3.4.5 1.2.3.256 08.0.0.1 09.1 0x100000000 4294967296 999999999999 0x.0xg.1
foo.1 a.0x7f 1..2 .. . a..b -a.com a-.com exa_mple-.com [::1 ::1] [::1%25eth0] [fe80::1%eth0] [v1.x]
[12345::] exa%00mple.com exa%2fmple.com exa%40mple.com exa%5cmple.com exam*ple.com exam<ple.com
""")
PUBLIC = hosts("""
1.1.1.1 8.8.8.8 9.9.9.9 93.184.216.34 0x08080808 134744072 010.010.010.010 8.8.2056 172.15.255.255
172.32.0.1 192.167.1.1 192.169.1.1 11.0.0.1 9.255.255.255 100.63.255.255 100.128.0.1 126.1.1.1
128.0.0.1 169.253.1.1 169.255.1.1 192.0.1.1 192.0.3.1 198.17.1.1 198.20.1.1 223.255.255.255
[2606:4700:4700::1111] [2001:4860:4860::8888] [2a00:1450:4001::1] [2600::1] [64:ff9b::808:808]
""")
PUBLIC_NAMES = hosts("""
example.com EXAMPLE.com example.com. 10.example.com 127.0.1.example.com 192.168.example.org
93.184.216.34.example.com a-93-184-216-34.example.com 1-2-3.example.com
fc00.example.com xn--bcher-kva.example bücher.example localhost.example.com internal.example.com
deadbeef.example.com e1234567.example.com 08080808.example.com 12345678.example.com
123456789012.example.com 1234567890.example.com 1-2-3-4-5.example.com abcdef1234.example.com
my_host.example.com 1and1.com 0x.example.com a.b.c.d.e.example.co.uk
""")

REFUSED = [*LOOPBACK, *UNSPECIFIED, *PRIVATE, *LINK_LOCAL, *RESERVED, *NAMES, *MALFORMED]


def door() -> GuardedWeb:
    """A door whose resolver must not be needed."""

    async def resolver(host: str, _: int) -> list[str]:
        raise AssertionError(f"{host} was looked up")

    return GuardedWeb(resolver=resolver)


@pytest.mark.requirement("web:refused-addresses")
def test_there_are_enough_addresses() -> None:
    assert len(set(REFUSED)) == len(REFUSED) >= 200


@pytest.mark.requirement("web:refused-addresses")
async def test_an_address_that_is_not_public_is_refused_before_anything_is_sent() -> None:
    with every_row() as row:
        for host in REFUSED:
            with row(host), pytest.raises(ToolError):
                await door().fetch(f"http://{host}/")


@pytest.mark.requirement("web:public-addresses")
async def test_a_public_address_is_let_through() -> None:
    with every_row() as row:
        for host in PUBLIC:
            with row(host):
                target = canonical(f"https://{host}/")
                assert target.address is not None
                assert await door().addresses(target) == (target.address,)


@pytest.mark.requirement("web:public-addresses")
@pytest.mark.parametrize("host", PUBLIC_NAMES)
async def test_a_name_is_judged_by_what_it_resolves_to(host: str) -> None:
    found = ["93.184.216.34"]

    async def resolver(name: str, port: int) -> list[str]:
        assert name == name.lower() and name.isascii() and not name.endswith(".")
        return found

    web = GuardedWeb(resolver=resolver)
    assert await web.addresses(canonical(f"https://{host}/")) == (
        ipaddress.IPv4Address("93.184.216.34"),
    )
    for bad in ("127.0.0.1", "::1", "169.254.169.254", "fd00::1"):
        found[:] = ["93.184.216.34", bad]
        with pytest.raises(ToolError, match="not on the public internet"):
            await web.addresses(canonical(f"https://{host}/"))


@pytest.mark.requirement("web:refused-addresses")
def test_every_edge_of_a_refused_block_is_refused_and_its_neighbour_is_not() -> None:
    blocks = ["10.0.0.0/8", "127.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "100.64.0.0/10"]
    for text in blocks:
        network = ipaddress.IPv4Network(text)
        assert refusal(network[0]) and refusal(network[-1])
        assert not refusal(network[0] - 1) and not refusal(network[-1] + 1)


@pytest.mark.requirement("web:legacy-ipv4")
@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("127.1", "127.0.0.1"),
        ("0x7f.1", "127.0.0.1"),
        ("0177.0.0.1", "127.0.0.1"),
        ("2130706433", "127.0.0.1"),
        ("1.2.772", "1.2.3.4"),
        ("1.131844", "1.2.3.4"),
        ("0x", "0.0.0.0"),
        ("1.2.3.4.", "1.2.3.4"),
    ],
)
def test_a_legacy_ipv4_spelling_is_the_address_that_c_libraries_read(text: str, meant: str) -> None:
    assert parse_ipv4(text) == ipaddress.IPv4Address(meant)


@pytest.mark.requirement("web:url-policy")
@pytest.mark.parametrize(
    "url",
    [
        "ftp://example.com/",
        "file:///etc/passwd",
        "gopher://example.com/",
        "javascript:alert(1)",
        "data:text/html,hi",
        "http:example.com",
        "http:/example.com",
        "http:///example.com",
        "http:\\\\example.com",
        "//example.com/",
        "example.com",
        "",
        "http://",
        "http://user@example.com/",
        "http://user:secret@example.com/",
        "http://:secret@example.com/",
        "http://example.com\\@127.0.0.1/",
        "http://example.com:0/",
        "http://example.com:99999/",
        "http://example.com:8o/",
        "http://exa mple.com/",
        "http://example.com/a b",
        "http://example.com/\r\nX: y",
        "http://example.com/\u202etxt",
        "http://exam\u00adple.com/",
        "http://example.com/" + "a" * 9000,
    ],
)
def test_a_url_that_is_not_plainly_one_is_refused(url: str) -> None:
    with pytest.raises(ToolError):
        canonical(url)


@pytest.mark.requirement("web:url-policy")
@pytest.mark.parametrize("port", [21, 22, 25, 81, 3306, 6379, 7999, 9000, 11211, 65535])
async def test_a_port_that_no_web_server_uses_is_refused(port: int) -> None:
    with pytest.raises(ToolError, match=f"Port {port}"):
        await door().fetch(f"http://93.184.216.34:{port}/")


@pytest.mark.requirement("web:url-policy")
def test_a_url_has_one_form() -> None:
    assert (
        canonical("HTTPS://EXAMPLE.com:443/ü?q=ä#part").url == "https://example.com/%C3%BC?q=%C3%A4"
    )
    assert canonical("http://example.com:8080").url == "http://example.com:8080/"
    assert canonical("http://[2606:4700::1]?x").url == "http://[2606:4700::1]/?x"
    assert canonical("http://0x8080808/").host == "8.8.8.8"
