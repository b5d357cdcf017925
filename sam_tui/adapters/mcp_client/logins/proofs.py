"""Tokens that are bound to a key of this login (DPoP, RFC 9449): the key, its proofs, and the requests
that carry them.

The key never leaves this program and the place where it stores logins; each proof is for one request.
"""

import hashlib
import json
import re
import secrets
import time
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing
from typing import Protocol, cast
from urllib.parse import parse_qs

import httpx2
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.utils import decode_dss_signature
from mcp.client.auth import OAuthClientProvider
from mcp.client.auth.utils import extract_field_from_www_auth

from sam_tui.adapters.mcp_client.logins.challenges import accepts_proofs

_BYTES = 32
"""The bytes of a coordinate, of a private key and of each half of a signature, with P-256."""
_LONGEST_NONCE = 2000
_ISSUED = (200, 201)
_NONCE = "DPoP-Nonce"
_NONCE_WANTED = "use_dpop_nonce"
_VALUE = re.compile(r"[\x21\x23-\x5b\x5d-\x7e]+")
"""The characters of a nonce (RFC 9449, 8.1)."""


class ProofKey:
    """A key of ES256, and the proofs that its holder sends a request."""

    def __init__(self, key: ec.EllipticCurvePrivateKey) -> None:
        self._key = key
        numbers = key.public_key().public_numbers()
        x, y = (_encoded(number.to_bytes(_BYTES, "big")) for number in (numbers.x, numbers.y))
        self._header = {"typ": "dpop+jwt", "alg": "ES256"}
        self._public = {"kty": "EC", "crv": "P-256", "x": x, "y": y}

    @classmethod
    def generate(cls) -> "ProofKey":
        """A new key."""
        return cls(ec.generate_private_key(ec.SECP256R1()))

    @classmethod
    def stored(cls, text: str) -> "ProofKey | None":
        """The key that has this ``text``; None if no key has it."""
        try:
            data = urlsafe_b64decode(f"{text}=")
            key = ec.derive_private_key(int.from_bytes(data, "big"), ec.SECP256R1())
        except ValueError:
            return None
        return cls(key) if len(data) == _BYTES else None

    @property
    def text(self) -> str:
        """The private key, to be stored with the login."""
        return _encoded(self._key.private_numbers().private_value.to_bytes(_BYTES, "big"))

    def proof(self, request: httpx2.Request, *, token: str = "", nonce: str = "") -> str:
        """A proof for this request alone, with the ``token`` that it carries (RFC 9449, 4.2)."""
        claims: dict[str, str | int] = {
            "jti": secrets.token_urlsafe(16),
            "htm": request.method,
            "htu": str(request.url.copy_with(query=None, fragment=None)),
            "iat": int(time.time()),
        }
        if token:
            claims["ath"] = _encoded(hashlib.sha256(token.encode("ascii")).digest())
        if nonce:
            claims["nonce"] = nonce
        parts = ({**self._header, "jwk": self._public}, claims)
        text = ".".join(_encoded(json.dumps(part).encode()) for part in parts)
        signature = self._key.sign(text.encode("ascii"), ec.ECDSA(hashes.SHA256()))
        halves = decode_dss_signature(signature)
        joined = b"".join(half.to_bytes(_BYTES, "big") for half in halves)
        return f"{text}.{_encoded(joined)}"


def _encoded(data: bytes) -> str:
    return urlsafe_b64encode(data).rstrip(b"=").decode("ascii")


class BoundTokens(Protocol):
    """Holds the key that the stored tokens are bound to, as text; empty for tokens that need none."""

    @property
    def key(self) -> str: ...

    def bind(self, key: str) -> None:
        """Store this key with the next tokens; empty if they are bound to none."""
        ...


class ProvenLogin(httpx2.Auth):
    """The authentication ``provider`` with proofs, where the server accepts tokens that are bound to a key.

    Only the token endpoint and the server get proofs. The authorization server decides: tokens that it
    does not bind are sent as usual.
    """

    def __init__(self, provider: OAuthClientProvider, store: BoundTokens) -> None:
        self._provider = provider
        self._store = store
        self._wanted = False
        self._read: tuple[str, ProofKey | None] = "", None
        self._nonces: dict[tuple[str, str, int | None], str] = {}

    async def async_auth_flow(
        self, request: httpx2.Request
    ) -> AsyncGenerator[httpx2.Request, httpx2.Response]:
        """Sign a request, as ``provider`` does, with proofs; repeat it once if it lacks a nonce."""
        async with aclosing(self._provider.async_auth_flow(request)) as flow:
            try:
                outgoing = await anext(flow)
                while True:
                    of_tokens = outgoing is not request and self._is_for_tokens(outgoing)
                    key = self._key_for_tokens(outgoing) if of_tokens else None
                    key = self._stored_key if outgoing is request else key
                    response = yield self._proven(outgoing, key)
                    if key is not None and await self._note_nonce(response):
                        response = yield self._proven(outgoing, key)
                        await self._note_nonce(response)
                    if outgoing is request:
                        self._wanted = self._wanted or accepts_proofs(response)
                    elif of_tokens:
                        response = await self._issued(response, key)
                    outgoing = await flow.asend(response)
            except StopAsyncIteration:
                return

    def _is_for_tokens(self, request: httpx2.Request) -> bool:
        metadata = self._provider.context.oauth_metadata
        return metadata is not None and request.url == httpx2.URL(str(metadata.token_endpoint))

    def _key_for_tokens(self, request: httpx2.Request) -> ProofKey | None:
        """The stored key to refresh tokens, a new one for new tokens; None for tokens without a key."""
        form = parse_qs(request.content.decode("utf-8", "replace"))
        if form.get("grant_type") == ["refresh_token"]:
            return self._stored_key
        resource = self._provider.context.protected_resource_metadata
        required = resource is not None and resource.dpop_bound_access_tokens_required
        return ProofKey.generate() if self._wanted or required else None

    @property
    def _stored_key(self) -> ProofKey | None:
        """The key of the stored tokens; None if it cannot be read, and the server then refuses them."""
        text = self._store.key
        if self._read[0] != text:
            self._read = text, ProofKey.stored(text)
        return self._read[1]

    def _proven(self, request: httpx2.Request, key: ProofKey | None) -> httpx2.Request:
        """The request with a new proof; an access token in it gets the scheme of bound ones."""
        request.headers.pop("DPoP", None)
        if key is None:
            return request
        scheme, _, token = request.headers.get("Authorization", "").partition(" ")
        nonce = self._nonces.get(_origin(request.url), "")
        if scheme not in ("Bearer", "DPoP"):  # a client's own authentication, or none
            request.headers["DPoP"] = key.proof(request, nonce=nonce)
            return request
        request.headers["Authorization"] = f"DPoP {token}"
        request.headers["DPoP"] = key.proof(request, token=token, nonce=nonce)
        return request

    async def _note_nonce(self, response: httpx2.Response) -> bool:
        """Note the nonce of an answer for the next proof; true if the request is to be repeated with it."""
        nonce = response.headers.get(_NONCE, "")
        if len(nonce) > _LONGEST_NONCE or not _VALUE.fullmatch(nonce):
            return False
        self._nonces[_origin(response.request.url)] = nonce
        match response.status_code:
            case 400:
                return _object(await response.aread()).get("error") == _NONCE_WANTED
            case 401:
                return extract_field_from_www_auth(response, "error") == _NONCE_WANTED
            case _:
                return False

    async def _issued(self, response: httpx2.Response, key: ProofKey | None) -> httpx2.Response:
        """An answer with tokens as the SDK reads it, which knows no tokens that are bound."""
        issued = response.status_code in _ISSUED
        tokens = _object(await response.aread() if issued else b"")
        bound = key is not None and str(tokens.get("token_type", "")).lower() == "dpop"
        self._store.bind(key.text if key is not None and bound else "")
        if not bound:
            return response
        tokens = {**tokens, "token_type": "Bearer"}
        return httpx2.Response(response.status_code, json=tokens, request=response.request)


def _object(data: bytes) -> Mapping[str, object]:
    """The JSON object in the body of an answer; empty for any other body."""
    try:
        value = json.loads(data)
    except (ValueError, RecursionError):
        return {}
    return cast("dict[str, object]", value) if isinstance(value, dict) else {}


def _origin(url: httpx2.URL) -> tuple[str, str, int | None]:
    return url.scheme, url.host, url.port
