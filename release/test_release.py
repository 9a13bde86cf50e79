"""Tests of the scripts that pack a release, without a compiled binary."""

import json
import shutil
import subprocess
import tarfile
import tempfile
import unittest
import zipfile
from pathlib import Path
from typing import Any
from unittest import mock

import package
import run_image
import sbom
from archives import Entry, write_tar_gz, write_zip

RELEASE = package.Release("1.2.3", "x86_64-unknown-linux-gnu", 1_700_000_000)
READELF = """
 0x0000000000000001 (NEEDED)             Shared library: [libgcc_s.so.1]
 0x0000000000000001 (NEEDED)             Shared library: [libc.so.6]
  0x0010:   Name: GLIBC_2.9  Flags: none  Version: 5
  0x0020:   Name: GLIBC_2.28  Flags: none  Version: 4
"""


@unittest.skipUnless(shutil.which("dpkg-deb"), "there is no dpkg-deb")
class PackageTest(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def pack(self, name: str) -> Path:
        """Pack a small program; its bill of materials is not made."""
        source, output = self.folder / f"{name}-source/model", self.folder / name
        source.mkdir(parents=True)
        output.mkdir()
        (source / "charter").write_text("program", encoding="utf-8")
        for file in package.MODEL_FILES:
            (source / file).write_text(file, encoding="utf-8")
        made = (
            [Entry(path, b"completion") for _, path, _ in package.COMPLETIONS],
            [Entry("man/man1/charter.1", b"page")],
        )
        with mock.patch("sbom.bill", return_value={"bomFormat": "CycloneDX"}):
            linked = package.linking(READELF)
            package.pack(RELEASE, linked, source / "charter", made, package.model_entries(source), output)
        package.write_checksums(output)
        return output

    def test_two_packings_on_two_paths_are_equal(self) -> None:
        one, other = self.pack("one"), self.pack("another-path")
        sums = (one / "SHA256SUMS").read_text()
        self.assertEqual(len(sums.splitlines()), 7)
        self.assertEqual(sums, (other / "SHA256SUMS").read_text())

    def test_the_checksums_are_those_of_the_files(self) -> None:
        done = subprocess.run(["sha256sum", "--check", "--strict", "--quiet", "SHA256SUMS"], cwd=self.pack("out"))
        self.assertEqual(done.returncode, 0)

    def test_the_debian_package_has_the_service_and_needs_the_binarys_libraries(self) -> None:
        package_file = self.pack("out") / "charter_1.2.3_amd64.deb"
        fields = package.run("dpkg-deb", "--field", package_file, "Depends", "Recommends", "Architecture")
        self.assertIn("Depends: libc6 (>= 2.28), libgcc-s1, passwd", fields)
        self.assertIn("Recommends: charter-model (= 1.2.3), python3, ca-certificates", fields)
        listed = package.run("dpkg-deb", "--contents", package_file)
        for path in ("usr/bin/charter", "usr/lib/systemd/system/charter.service", "etc/charter/charter.toml"):
            self.assertIn(f" ./{path}\n", listed)
        self.assertRegex(listed, r"-rwxr-xr-x root/root .* \./usr/bin/charter\n")

    def test_the_wheel_installs_the_program_and_records_every_file(self) -> None:
        wheel = self.pack("out") / "charter_binary-1.2.3-py3-none-manylinux_2_28_x86_64.whl"
        with zipfile.ZipFile(wheel) as archive:
            names = archive.namelist()
            record = archive.read("charter_binary-1.2.3.dist-info/RECORD").decode()
            self.assertEqual(archive.read("charter_binary-1.2.3.data/scripts/charter"), b"program")
        self.assertEqual([line.split(",")[0] for line in record.splitlines()], names)

    def test_an_archive_unpacks_below_one_folder(self) -> None:
        with tarfile.open(self.pack("out") / "charter-1.2.3-x86_64-linux.tar.gz") as tar:
            members = {member.name: member for member in tar}
        self.assertEqual({name.split("/")[0] for name in members}, {"charter-1.2.3-x86_64-linux"})
        self.assertEqual(members["charter-1.2.3-x86_64-linux/bin/charter"].mode, 0o755)

    def test_a_static_binary_installs_with_musl(self) -> None:
        linked = package.linking("")
        self.assertEqual(package.debian_dependencies(linked), [])
        self.assertEqual(package.wheel_tags("aarch64", linked), "musllinux_1_1_aarch64")

    def test_archives_depend_on_names_and_content_alone(self) -> None:
        entries = [Entry("b/c", b"1", 0o755), Entry("a", b"2")]
        one, other = self.folder / "one.tar.gz", self.folder / "other.tar.gz"
        write_tar_gz(one, entries, 5)
        write_tar_gz(other, entries[::-1], 5)
        self.assertEqual(one.read_bytes(), other.read_bytes())
        write_zip(one, entries)
        write_zip(other, entries)
        self.assertEqual(one.read_bytes(), other.read_bytes())


METADATA: dict[str, Any] = {
    "packages": [
        {"id": "1", "name": "charter-cli", "version": "1.2.3", "license": "Apache-2.0", "repository": None},
        {"id": "2", "name": "serde", "version": "1.0.0", "license": "MIT/Apache-2.0", "repository": "https://x.y"},
        {"id": "3", "name": "proptest", "version": "1.0.0", "license": "MIT", "repository": None},
    ],
    "resolve": {
        "nodes": [
            {
                "id": "1",
                "deps": [
                    {"pkg": "2", "dep_kinds": [{"kind": None}]},
                    {"pkg": "3", "dep_kinds": [{"kind": "dev"}]},
                ],
            },
            {"id": "2", "deps": []},
            {"id": "3", "deps": []},
        ]
    },
}
LOCK: dict[str, Any] = {
    "package": [{"name": "charter-cli", "version": "1.2.3"}, {"name": "serde", "version": "1.0.0", "checksum": "5"}]
}


class BillTest(unittest.TestCase):
    def test_the_bill_has_linked_crates_with_digests_and_not_those_of_tests(self) -> None:
        components, depends = sbom.crates(METADATA, LOCK)
        found = {component["purl"]: component for component in components}
        self.assertEqual(set(found), {"pkg:cargo/charter-cli@1.2.3", "pkg:cargo/serde@1.0.0"})
        self.assertEqual(found["pkg:cargo/serde@1.0.0"]["licenses"], [{"expression": "MIT OR Apache-2.0"}])
        self.assertEqual(found["pkg:cargo/serde@1.0.0"]["hashes"], [{"alg": "SHA-256", "content": "5"}])
        self.assertIn({"ref": "pkg:cargo/charter-cli@1.2.3", "dependsOn": ["pkg:cargo/serde@1.0.0"]}, depends)

    def test_the_bill_has_the_consoles_packages_and_not_those_for_development(self) -> None:
        lock = json.loads((sbom.ROOT / "package-lock.json").read_text(encoding="utf-8"))
        names = {component["name"] for component in sbom.npm(lock)}
        self.assertLessEqual({"react", "react-dom", "@mantine/core"}, names)
        self.assertFalse({"vite", "typescript", "@playwright/test"} & names)


class SeccompTest(unittest.TestCase):
    def test_rules_for_capabilities_and_other_processors_are_left_out(self) -> None:
        here = "amd64" if run_image.MACHINE == "SCMP_ARCH_X86_64" else "arm64"
        rules = [
            {"names": ["read"], "action": "SCMP_ACT_ALLOW", "includes": {}},
            {"names": ["unshare"], "action": "SCMP_ACT_ALLOW", "includes": {"caps": ["CAP_SYS_ADMIN"]}},
            {"names": ["arch_prctl"], "action": "SCMP_ACT_ALLOW", "includes": {"arches": [here]}},
            {"names": ["s390_pci"], "action": "SCMP_ACT_ALLOW", "includes": {"arches": ["s390x"]}},
        ]
        with tempfile.TemporaryDirectory() as folder:
            profile = Path(folder) / "profile.json"
            profile.write_text(json.dumps({"defaultAction": "SCMP_ACT_ERRNO", "syscalls": rules}), encoding="utf-8")
            kept = run_image.seccomp(profile)
        self.assertEqual([call["names"] for call in kept["syscalls"]], [["read"], ["arch_prctl"]])


if __name__ == "__main__":
    unittest.main()
