"""The store of files by digest, on real folders."""

import asyncio
import contextlib
import errno
import hashlib
import os
import subprocess
import sys
from pathlib import Path

import pytest

from onetake.domain.errors import StorageError
from onetake.media.blobs import Blobs, FolderBlobs, storage_trouble

BYTES = b"the bytes of a still"
DIGEST = hashlib.sha256(BYTES).hexdigest()


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return tmp_path / "storage"


@pytest.fixture
def blobs(root: Path) -> FolderBlobs:
    return FolderBlobs(root)


def arrive(blobs: Blobs, content: bytes = BYTES) -> Path:
    temp = blobs.incoming("att_1")
    temp.write_bytes(content)
    return temp


async def test_a_kept_file_is_named_by_its_digest(blobs: FolderBlobs, root: Path) -> None:
    temp = arrive(blobs)
    home = await blobs.keep(temp, DIGEST)
    assert home == root / "sha256" / DIGEST[:2] / DIGEST[2:] == blobs.path(DIGEST)
    assert home.read_bytes() == BYTES
    assert not temp.exists()
    assert await blobs.local(DIGEST) == home
    with blobs.open(DIGEST) as file:
        assert file.read() == BYTES


async def test_only_its_user_can_look_in(blobs: FolderBlobs, root: Path) -> None:
    temp = arrive(blobs)
    modes = [temp.stat().st_mode & 0o777]
    home = await blobs.keep(temp, DIGEST)
    modes += [path.stat().st_mode & 0o777 for path in (home, home.parent, home.parent.parent, root / "incoming", root)]
    assert modes == [0o600, 0o600, 0o700, 0o700, 0o700, 0o700]


async def test_the_same_bytes_again_mend_a_file_that_rotted(blobs: FolderBlobs) -> None:
    first = await blobs.keep(arrive(blobs), DIGEST)
    first.write_bytes(b"\0" * len(BYTES))
    temp = arrive(blobs)
    assert await blobs.keep(temp, DIGEST) == first
    assert (first.read_bytes(), temp.exists()) == (BYTES, False)


async def test_many_keep_one_digest_at_once(root: Path) -> None:
    stores = [FolderBlobs(root) for _ in range(4)]  # as many processes would
    homes = await asyncio.gather(*(store.keep(arrive(store), DIGEST) for store in stores * 5))
    assert {home.read_bytes() for home in homes} == {BYTES}
    assert len(set(homes)) == 1
    assert list((root / "incoming").iterdir()) == []


async def test_a_standing_file_of_another_length_is_replaced(blobs: FolderBlobs) -> None:
    home = await blobs.keep(arrive(blobs), DIGEST)
    home.write_bytes(BYTES[:5])
    await blobs.keep(arrive(blobs), DIGEST)
    assert home.read_bytes() == BYTES


def test_two_incoming_files_of_one_name_are_two(blobs: FolderBlobs) -> None:
    first, second = blobs.incoming("att_1"), blobs.incoming("att_1")
    assert first != second
    assert first.name.startswith("att_1.")


@pytest.mark.parametrize("name", ["", "../escape", "a/b", "a b", "x" * 101])
def test_a_name_cannot_leave_the_folder(blobs: FolderBlobs, name: str) -> None:
    with pytest.raises(ValueError, match="not a plain name"):
        blobs.incoming(name)


@pytest.mark.parametrize("digest", ["", "../../etc/passwd", DIGEST.upper(), DIGEST[:-1], DIGEST + "\n"])
def test_only_a_digest_is_a_digest(blobs: FolderBlobs, digest: str) -> None:
    with pytest.raises(ValueError, match="not a SHA-256"):
        blobs.path(digest)


async def test_the_sweep_takes_old_leftovers_only(blobs: FolderBlobs) -> None:
    old, new = arrive(blobs), arrive(blobs)
    os.utime(old, ns=(0, 1_000_000_000))
    assert await blobs.sweep_incoming(before_us=2_000_000) == 1
    assert (old.exists(), new.exists()) == (False, True)


async def test_what_is_not_there_is_said_in_a_sentence(blobs: FolderBlobs, root: Path) -> None:
    sentence = f"The file store at {root} can't be used: No such file or directory."
    with pytest.raises(StorageError) as error:
        await blobs.local(DIGEST)
    assert error.value.sentence == sentence
    with pytest.raises(StorageError) as error:
        blobs.open(DIGEST)
    assert error.value.sentence == sentence


async def test_a_file_that_can_not_be_kept_is_left(blobs: FolderBlobs, root: Path) -> None:
    temp = arrive(blobs)
    (root / "sha256" / DIGEST[:2]).write_bytes(b"a file where a folder should be")
    with pytest.raises(StorageError):
        await blobs.keep(temp, DIGEST)
    assert temp.read_bytes() == BYTES


def test_a_root_below_a_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(StorageError, match="a part of its path is a file"):
        FolderBlobs(tmp_path / "file" / "storage")


@pytest.mark.e2e
def test_a_read_only_store_says_so(root: Path) -> None:
    root.mkdir()
    for name in ("incoming", "sha256"):
        (root / name).mkdir(mode=0o555)
    root.chmod(0o555)
    program = f"""
import os
from pathlib import Path
from onetake.media.blobs import FolderBlobs, StorageError
if os.geteuid() == 0:
    os.seteuid(65534)  # nobody; modes don't hold root back
try:
    FolderBlobs(Path({str(root)!r})).incoming("att_1")
except StorageError as error:
    print(error)
"""
    said = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout
    owner = "may not be written by this user; change its owner or mode, or choose another place"
    assert said == f"The file store at {root} {owner}.\n"


@pytest.mark.parametrize(
    ("code", "words"),
    [
        (errno.ENOSPC, "is full"),
        (errno.EDQUOT, "quota"),
        (errno.EROFS, "is read-only"),
        (errno.EFBIG, "file of this size"),
        (errno.EIO, "can't be used: Input/output error"),
    ],
)
def test_each_trouble_says_what_helps(code: int, words: str) -> None:
    with pytest.raises(StorageError, match=words), storage_trouble(Path("store")):
        raise OSError(code, os.strerror(code))


def test_a_full_disk_says_so() -> None:
    with contextlib.ExitStack() as stack:
        full = stack.enter_context(Path("/dev/full").open("wb", buffering=0))  # a device that is always full
        stack.enter_context(pytest.raises(StorageError, match="is full; free some space there"))
        stack.enter_context(storage_trouble(Path("store")))
        full.write(b"x")
