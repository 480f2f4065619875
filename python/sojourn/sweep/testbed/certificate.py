"""A server's certificate of the length that a study asks for, signed by nobody but itself."""

import base64
import datetime
import hashlib
from dataclasses import dataclass
from functools import cache

LEAST = 1000
"""Bytes of a first flight that can be had: some 350 are of its other messages, and some 450 of the shortest
certificate."""

_OTHER_MESSAGES = 365
"""Bytes of TLS 1.3's first flight besides the certificate (RFC 8446 §2), with records and an ECDSA signature:
ServerHello, EncryptedExtensions, CertificateVerify, Finished."""
_FILL = "1.3.6.1.4.1.32473.1"
"""Extension that fills it up, below the number for examples (RFC 5612)."""


@dataclass(frozen=True)
class Certificate:
    """A certificate and its key, as PEM, and how a browser is told to trust it."""

    chain: bytes
    key: bytes
    spki: str


@cache
def certificate(first_flight: int) -> Certificate:
    """Return a certificate with which a server's first flight has about so many bytes.

    Raises
    ------
    ImportError
        The package `cryptography` is missing.
    ValueError
        `first_flight` is less than `LEAST`.
    """
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec

    if first_flight < LEAST:
        raise ValueError(f"a first flight of {first_flight} bytes: expected at least {LEAST}")
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "testbed")])
    now = datetime.datetime.now(datetime.UTC)

    def made(fill: int) -> x509.Certificate:
        padding = x509.UnrecognizedExtension(x509.ObjectIdentifier(_FILL), bytes(fill))
        return (
            x509.CertificateBuilder()
            .subject_name(name)
            .issuer_name(name)
            .public_key(key.public_key())
            .serial_number(1)
            .not_valid_before(now - datetime.timedelta(days=1))
            .not_valid_after(now + datetime.timedelta(days=9))
            .add_extension(x509.SubjectAlternativeName([x509.DNSName("testbed")]), critical=False)
            .add_extension(padding, critical=False)
            .sign(key, hashes.SHA256())
        )

    der, pem = serialization.Encoding.DER, serialization.Encoding.PEM
    shortest = len(made(256).public_bytes(der)) - 256
    chain = made(first_flight - _OTHER_MESSAGES - shortest).public_bytes(pem)
    public = key.public_key().public_bytes(der, serialization.PublicFormat.SubjectPublicKeyInfo)
    private = key.private_bytes(pem, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    return Certificate(chain, private, base64.b64encode(hashlib.sha256(public).digest()).decode())
