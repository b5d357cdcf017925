"""TLS to the address that was checked, under the name that was asked for."""

import ssl
from datetime import UTC, datetime, timedelta
from ipaddress import IPv4Address
from pathlib import Path

import pytest

from sam_tui.adapters.web import GuardedWeb
from sam_tui.core.errors import ToolError
from tests.fakes.web_server import WebServer, moved, page
from tests.web.names import Names


def certificate(folder: Path, name: str) -> tuple[ssl.SSLContext, ssl.SSLContext]:
    """A server's context with a certificate for one name, and a client's that trusts it."""
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec
    from cryptography.x509.oid import NameOID

    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    now = datetime.now(UTC)
    made = (
        x509
        .CertificateBuilder()
        .subject_name(subject)
        .issuer_name(subject)
        .public_key(key.public_key())
        .serial_number(1)
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(
            x509.SubjectAlternativeName([
                x509.DNSName(name),
                x509.IPAddress(IPv4Address("127.0.0.9")),
            ]),
            critical=False,
        )
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    file = folder / "server.pem"
    file.write_bytes(
        key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )
        + made.public_bytes(serialization.Encoding.PEM)
    )
    server = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    server.load_cert_chain(file)
    return server, ssl.create_default_context(
        cadata=made.public_bytes(serialization.Encoding.PEM).decode()
    )


@pytest.mark.requirement("web:tls")
async def test_a_certificate_is_checked_against_the_name_though_the_address_is_connected_to(
    tmp_path: Path,
) -> None:
    server, client = certificate(tmp_path, "secure.example")
    seen: list[str | None] = []

    def remember(_: ssl.SSLObject, name: str | None, __: ssl.SSLContext) -> None:
        seen.append(name)

    server.sni_callback = remember
    async with WebServer({"/": page("secure")}, server) as site:
        names = Names([["127.0.0.1"]])
        hosts = ("secure.example", "other.example")
        allowed = frozenset(f"{host}:{site.port}" for host in hosts)
        web = GuardedWeb(allowed=allowed, resolver=names, tls=client)
        assert (await web.fetch(f"https://secure.example:{site.port}/")).body == b"secure"
        assert seen == ["secure.example"]
        with pytest.raises(ToolError, match=r"certificate of other\.example is not valid"):
            await web.fetch(f"https://other.example:{site.port}/")


@pytest.mark.requirement("web:redirects")
async def test_encryption_is_not_given_up_by_a_redirect(tmp_path: Path, site: WebServer) -> None:
    server, client = certificate(tmp_path, "secure.example")
    site.routes["/"] = page("plain")
    async with WebServer({"/": moved(site.url())}, server) as secure:
        host = f"secure.example:{secure.port}"
        web = GuardedWeb(
            allowed=frozenset({host, site.origin}), resolver=Names([["127.0.0.1"]]), tls=client
        )
        with pytest.raises(ToolError, match="not encrypted"):
            await web.fetch(f"https://{host}/")
    assert site.asked == []
