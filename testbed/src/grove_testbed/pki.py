"""The certificates of one run: an authority and what it signs, a serving certificate and, with real nodes, theirs."""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from dataclasses import dataclass
from ipaddress import IPv4Address
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

_LIFETIME = dt.timedelta(days=7)


@dataclass(frozen=True)
class CertificateRequest:
    """A certificate to write, as ``path`` with .crt and .key.

    It proves who its holder is, to clients at these names and addresses and to servers.
    """

    path: Path
    common_name: str
    names: Sequence[str] = ()
    addresses: Sequence[IPv4Address] = ()
    organization: str = ""


def write_certificates(
    folder: Path,
    names: Sequence[str] = (),
    addresses: Sequence[IPv4Address] = (),
    leaves: Sequence[CertificateRequest] = (),
) -> None:
    """Writes ca.crt, server.crt, server.key and sa.key (the service-account signing key), and the leaves.

    The server is at loopback, and at these names and addresses.
    """
    authority_key = ec.generate_private_key(ec.SECP256R1())
    authority_name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "grove-testbed")])
    authority = (
        _certificate(authority_name, authority_key.public_key(), authority_name)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(_usage(sign=True), critical=True)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(authority_key.public_key()), critical=False)
        .sign(authority_key, hashes.SHA256())
    )
    (folder / "ca.crt").write_bytes(authority.public_bytes(serialization.Encoding.PEM))
    server = CertificateRequest(
        folder / "server", "server", ("localhost", *names), (IPv4Address("127.0.0.1"), *addresses)
    )
    for leaf in (server, *leaves):
        _write_leaf(leaf, authority_name, authority_key)
    _write_key(folder / "sa.key", rsa.generate_private_key(65537, 2048))


def _write_leaf(leaf: CertificateRequest, issuer: x509.Name, issuer_key: ec.EllipticCurvePrivateKey) -> None:
    key = ec.generate_private_key(ec.SECP256R1())
    subject = [x509.NameAttribute(NameOID.COMMON_NAME, leaf.common_name)]
    if leaf.organization:
        subject.append(x509.NameAttribute(NameOID.ORGANIZATION_NAME, leaf.organization))
    purposes = [ExtendedKeyUsageOID.CLIENT_AUTH]
    builder = _certificate(x509.Name(subject), key.public_key(), issuer)
    served = [*map(x509.DNSName, leaf.names), *map(x509.IPAddress, leaf.addresses)]
    if served:
        purposes.append(ExtendedKeyUsageOID.SERVER_AUTH)
        builder = builder.add_extension(x509.SubjectAlternativeName(served), critical=False)
    certificate = (
        builder.add_extension(_usage(sign=False), critical=True)
        .add_extension(x509.ExtendedKeyUsage(purposes), critical=False)
        .add_extension(
            x509.AuthorityKeyIdentifier.from_issuer_public_key(issuer_key.public_key()), critical=False
        )
        .sign(issuer_key, hashes.SHA256())
    )
    leaf.path.with_suffix(".crt").write_bytes(certificate.public_bytes(serialization.Encoding.PEM))
    _write_key(leaf.path.with_suffix(".key"), key)


def _certificate(
    subject: x509.Name, key: ec.EllipticCurvePublicKey, issuer: x509.Name
) -> x509.CertificateBuilder:
    now = dt.datetime.now(dt.UTC)
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key)
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - dt.timedelta(minutes=5))
        .not_valid_after(now + _LIFETIME)
    )


def _usage(*, sign: bool) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=True,
        key_cert_sign=sign,
        crl_sign=sign,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        encipher_only=False,
        decipher_only=False,
    )


def _write_key(path: Path, key: ec.EllipticCurvePrivateKey | rsa.RSAPrivateKey) -> None:
    path.touch(mode=0o600)
    path.write_bytes(
        key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )
    )
