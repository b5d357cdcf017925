"""What a server and its authorization server check of tokens that are bound to a key (RFC 9449)."""

import hashlib
import json
from base64 import urlsafe_b64encode
from dataclasses import dataclass, field
from email.message import Message
from typing import Any

import jwt

REPLAYED, NONCE = "invalid_dpop_proof", "use_dpop_nonce"


@dataclass
class ProofChecks:
    """``nonce`` is what each proof has to contain, ``keys`` are those of the token requests in order."""

    nonce: str = ""
    binds: bool = True
    """Whether the authorization server binds tokens; if not, it does not read proofs."""
    keys: list[str] = field(default_factory=list[str])
    bound: dict[str, str] = field(default_factory=dict[str, str])
    """The key of each access token."""
    used: set[str] = field(default_factory=set[str])
    """The number of each proof that came."""

    def fault(self, headers: Message, method: str, url: str, token: str = "") -> str:
        """What is wrong with the proof of a request; empty if nothing is."""
        [proof] = headers.get_all("dpop", [""])
        try:
            head = jwt.get_unverified_header(proof)
            claims: dict[str, Any] = jwt.decode(proof, jwt.PyJWK(head["jwk"]), ["ES256"])
        except (jwt.InvalidTokenError, jwt.PyJWKError, KeyError):
            return REPLAYED
        key = json.dumps(head["jwk"], sort_keys=True)
        digest = urlsafe_b64encode(hashlib.sha256(token.encode()).digest()).rstrip(b"=").decode()
        expected = {"htm": method, "htu": url, **({"ath": digest} if token else {})}
        same = claims | expected == claims and head["typ"] == "dpop+jwt" and "d" not in head["jwk"]
        if not same or claims["jti"] in self.used or (token and self.bound.get(token) != key):
            return REPLAYED
        self.used.add(claims["jti"])
        if self.nonce and claims.get("nonce") != self.nonce:
            return NONCE
        if not token:
            self.keys.append(key)
        return ""
