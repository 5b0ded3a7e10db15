"""The signature of a release: over its manifest, and so over every file, in the format of minisign.

Who has the public key from elsewhere than the release sees by it that nobody else made or changed the
release. The program `minisign` checks the same files.
"""

import stat
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from qa_pipeline.errors import InputError
from qa_pipeline.publishing.manifest import MANIFEST, SIGNATURE
from qa_pipeline.settings.verification import ReleaseSettings
from qa_pipeline.storage.files import write_bytes

if TYPE_CHECKING:
    import minisign

Sign = Callable[[Path], None]
"""Writes the signature of the release in a folder."""
_LARGEST = 16_384
"""Bytes of a file of a key or a signature, which has a few hundred."""
_PASSWORD = "QA_PIPELINE_RELEASE__SIGNING_PASSWORD"  # noqa: S105 - a name


def signer(settings: ReleaseSettings) -> Sign:
    """Return what signs a release with the key of the settings; without one it does nothing.

    Raises:
        InputError: the key cannot be used, or others can read it.
    """
    path = settings.signing_key
    if path is None:
        return lambda folder: None
    password = settings.signing_password
    key = _secret_key(path, None if password is None else password.get_secret_value())

    def sign(folder: Path) -> None:
        content = (folder / MANIFEST).read_bytes()
        # without the usual time, so that equal releases have equal signatures
        signature = key.sign(content, trusted_comment=f"file:{MANIFEST}\thashed")
        write_bytes(folder / SIGNATURE, bytes(signature) + b"\n")

    return sign


def signature_problem(folder: Path, public_key: str) -> str | None:
    """Return why the manifest of a release is not shown to be that of a key's owner; None where it is.

    Args:
        folder: of the release.
        public_key: file of a public key, or its text (56 characters).

    Raises:
        InputError: the public key cannot be used.
    """
    minisign = _library()
    key = _public_key(public_key)
    try:
        signature = minisign.Signature.from_bytes(_content(folder / SIGNATURE))
    except FileNotFoundError:
        return f"{SIGNATURE} is missing: the release is not signed"
    except (OSError, ValueError) as error:
        return f"{SIGNATURE} is no signature of minisign: {error}"
    # the library names neither key; minisign prints their ids backwards
    ids = [key_id[::-1].hex().upper() for key_id in (signature._key_id, key._keynum_pk.key_id)]  # noqa: SLF001
    if ids[0] != ids[1]:
        return f"it is signed by key {ids[0]}, not by {ids[1]}"
    try:
        key.verify((folder / MANIFEST).read_bytes(), signature)
    except minisign.VerifyError:
        return f"{MANIFEST} or {SIGNATURE} was changed after it was signed"
    return None


def _library() -> Any:
    try:
        import minisign
    except ImportError as error:
        raise InputError("signatures need py-minisign: pip install 'qa-pipeline[sign]'") from error
    return minisign


def _content(path: Path) -> bytes:
    """Return a small regular file."""
    with path.open("rb") as file:
        content = file.read(_LARGEST + 1)
    if len(content) > _LARGEST:
        raise ValueError(f"it has more than {_LARGEST} bytes")
    return content


def _public_key(file_or_text: str) -> "minisign.PublicKey":
    library, path = _library(), Path(file_or_text)
    is_file = False
    try:
        is_file = path.is_file()
        if is_file:
            return library.PublicKey.from_bytes(_content(path))
        return library.PublicKey.from_base64(file_or_text)
    except (OSError, ValueError) as error:
        what = path if is_file else "it"
        raise InputError(
            f"--public-key: {what} is no public key of minisign ({error}); name its .pub "
            f"file, or give the 56 characters of its second line"
        ) from error


def _secret_key(path: Path, password: str | None) -> "minisign.SecretKey":
    library = _library()
    try:
        if stat.S_IMODE(path.stat().st_mode) & 0o077:
            raise InputError(f"other users can read or change the signing key {path}; chmod 600 it")
        key = library.SecretKey.from_bytes(_content(path))
    except OSError as error:
        raise InputError(f"the signing key {path} cannot be read: {error.strerror or error}") from error
    except ValueError as error:
        raise InputError(
            f"{path} is no secret key of minisign ({error}); minisign -G makes one, whose .pub file is for "
            f"others"
        ) from error
    if key.is_encrypted():
        if password is None:
            raise InputError(f"the signing key {path} is protected by a password; set {_PASSWORD}")
        try:
            key.decrypt(password)
        except ValueError as error:
            raise InputError(f"{_PASSWORD} is not the password of {path}") from error
    return key
