"""Tests of the container image's files and of image.py, without a container engine and without building anything."""

import fnmatch
import json
import re
import shlex
import sys
import tarfile
import tempfile
import unittest
from pathlib import Path
from typing import Any

import image
import oci

ROOT = image.ROOT
LISTED = image.contents()
# Generated files in the folders of sources.
MADE = {"__pycache__", "dist", "generated", "node_modules", "test-results"}


class Instruction:
    """An instruction of the Dockerfile, on one line."""

    def __init__(self, stage: str, line: str) -> None:
        self.stage = stage
        self.word, self.rest = line.split(" ", 1)

    def copied(self) -> tuple[str | None, list[str], str]:
        """The stage that it copies from, its sources, and its target."""
        words = self.rest.split()
        stages = [word.removeprefix("--from=") for word in words if word.startswith("--from=")]
        *sources, target = [word for word in words if not word.startswith("--")]
        return (stages[0] if stages else None), sources, target


def instructions() -> list[Instruction]:
    """Read the Dockerfile."""
    text = (ROOT / "deploy/Dockerfile").read_text(encoding="utf-8")
    kept = "\n".join(line for line in text.splitlines() if not line.lstrip().startswith("#"))
    found: list[Instruction] = []
    stage = ""
    for line in kept.replace("\\\n", " ").splitlines():
        if line.startswith("FROM "):
            stage = line.split(" AS ")[1]
        if line:
            found.append(Instruction(stage, line))
    return found


def last(word: str) -> str:
    """Return the rest of the last instruction of a word, which is of the image's own stage."""
    found = [one for one in instructions() if one.word == word][-1]
    assert found.stage == "image", found.stage
    return found.rest


def ignored() -> list[tuple[bool, str]]:
    """Read the patterns of the build context; those with `!` include files again."""
    lines = (ROOT / "deploy/Dockerfile.dockerignore").read_text(encoding="utf-8").splitlines()
    return [(not line.startswith("!"), line.removeprefix("!")) for line in lines if line]


def is_sent(patterns: list[tuple[bool, str]], path: str) -> bool:
    """Whether the builder gets a file: the last pattern that matches it or one of its folders decides."""
    names = [path, *map(str, Path(path).parents)][:-1]
    ignores = False
    for excludes, pattern in patterns:
        if any(matches(pattern.split("/"), name.split("/")) for name in names):
            ignores = excludes
    return not ignores


def matches(pattern: list[str], path: list[str]) -> bool:
    """Whether a pattern matches a whole path."""
    if not pattern or not path:
        return (not pattern and not path) or pattern == ["**"]
    if pattern[0] == "**":
        return any(matches(pattern[1:], path[start:]) for start in range(len(path) + 1))
    return fnmatch.fnmatchcase(path[0], pattern[0]) and matches(pattern[1:], path[1:])


def files(path: str) -> list[str]:
    """Return the files below a path of the repository, without generated ones."""
    whole = ROOT / path
    if whole.is_file():
        return [path]
    below = [entry for entry in whole.rglob("*") if entry.is_file() and not MADE & set(entry.parts)]
    return [str(entry.relative_to(ROOT)) for entry in below]


def requirements(path: str) -> dict[str, str]:
    """Return the pinned versions of a file."""
    lines = (ROOT / path).read_text(encoding="utf-8").lower().splitlines()
    return dict(line.split()[0].split("==") for line in lines if "==" in line and not line.startswith("#"))


class DockerfileTest(unittest.TestCase):
    """`docker build` gets the files of the list, and the image runs what the list says."""

    def test_the_dockerfile_runs_what_the_list_runs(self) -> None:
        run: dict[str, Any] = LISTED["run"]
        health = run["health"]
        self.assertEqual(dict(word.split("=", 1) for word in shlex.split(last("ENV"))), run["environment"])
        self.assertEqual(last("USER"), run["user"])
        self.assertEqual(json.loads(last("VOLUME")), [run["volume"]])
        self.assertEqual(last("EXPOSE"), str(run["port"]))
        self.assertEqual(last("STOPSIGNAL"), run["stop_signal"])
        self.assertEqual(json.loads(last("ENTRYPOINT")), run["entrypoint"])
        self.assertEqual(json.loads(last("CMD")), run["command"])
        options, command = last("HEALTHCHECK").split(" CMD ")
        self.assertEqual(json.loads(command), health["command"])
        seconds = {name: f"{health[f'{key}_s']}s" for name, key in TIMES.items()}
        expected = seconds | {"--retries": str(health["retries"])}
        self.assertEqual(dict(option.split("=") for option in options.split()), expected)

    def test_the_image_has_the_files_that_the_script_lists(self) -> None:
        [copy] = [one for one in instructions() if one.stage == "image" and one.word == "COPY"]
        self.assertEqual(copy.copied(), ("files", ["/image"], "/"))
        runs = [one.rest for one in instructions() if one.stage == "files" and one.word == "RUN"]
        self.assertTrue(any("release/image.py files" in run for run in runs), runs)

    def test_everything_that_the_image_is_built_from_is_sent_and_exists(self) -> None:
        patterns = ignored()
        stages = {one.stage for one in instructions()}
        sent = 0
        for copy in (one for one in instructions() if one.word == "COPY"):
            source_stage, sources, _ = copy.copied()
            if source_stage:
                self.assertIn(source_stage, stages)
                continue
            for source in sources:
                found = [] if source == "." else files(source)
                self.assertTrue(source == "." or found, f"{source} is not in the repository")
                left_out = [file for file in found if not is_sent(patterns, file)]
                self.assertEqual(left_out, [])
                sent += len(found)
        self.assertGreater(sent, 100)
        sources = [file for file in files("crates") + files("xtask") if "/tests/" not in file]
        workspace = ["Cargo.toml", "Cargo.lock", "rust-toolchain.toml", "clippy.toml", "release/build.sh"]
        self.assertEqual([file for file in sources + workspace if not is_sent(patterns, file)], [])
        secret = [".git/config", "target/debug/charter", "node_modules/x/package.json", "deploy/secrets/store.env"]
        self.assertEqual([file for file in secret if is_sent(patterns, file)], [])

    def test_the_matcher_of_ignored_files_knows_its_rules(self) -> None:
        patterns = [(True, "**"), (False, "a"), (False, "b/c"), (True, "a/*/d"), (True, "**/node_modules")]
        expected = {
            "x": False,
            "a/e": True,
            "a/x/d/deep": False,
            "a/x/e": True,
            "b/c": True,
            "b/d": False,
            "a/node_modules/x": False,
            "node_modules": False,
        }
        self.assertEqual({path: is_sent(patterns, path) for path in expected}, expected)

    def test_the_console_is_built_before_the_server(self) -> None:
        steps = [(one.stage, one.word, one.rest) for one in instructions()]
        built = next(index for index, step in enumerate(steps) if "--workspace charter-console" in step[2])
        copied = steps.index(("build", "COPY", "--from=console /src/console/dist console/dist"))
        compiled = next(index for index, step in enumerate(steps) if step[2].endswith("release/build.sh"))
        self.assertTrue(built < copied < compiled, steps)
        self.assertIn("--locked --release -p charter-cli", (ROOT / "release/build.sh").read_text(encoding="utf-8"))
        # A release embeds them in the binary.
        source = (ROOT / "crates/server/src/routes/console.rs").read_text(encoding="utf-8")
        self.assertIn('#[folder = "../../console/dist"]', source)


TIMES = {"--interval": "interval", "--timeout": "timeout", "--start-period": "start_period"}


class ContentsTest(unittest.TestCase):
    """The list has what the server and the tools of the example packages need."""

    def test_every_interpreter_of_the_shipped_packages_is_installed(self) -> None:
        # The standard library is in `python3`, and not in `python3-minimal`.
        needed = {"python": "python3", "bash": "bash", "http": "ca-certificates"}
        tools = files("packages") + files("crates/cli/src/commands/init/scaffold/tools")
        texts = [(ROOT / file).read_text(encoding="utf-8") for file in tools if "/tools/" in file]
        languages = set(re.findall(r"^[-\s]*language: (\S+)", "\n".join(texts), re.MULTILINE))
        self.assertIn("python", languages)
        for language in languages:
            self.assertIn(needed[language], LISTED["base"]["packages"])

    def test_every_library_that_scripts_import_is_installed_as_it_was_tested(self) -> None:
        pinned, tested = requirements("deploy/python.txt"), requirements("quickstart/requirements.txt")
        scripts = [ROOT / file for file in files("packages") if file.endswith(".py")]
        self.assertGreater(len(scripts), 10)
        libraries = set()
        for script in scripts:
            text = script.read_text(encoding="utf-8")
            for module in re.findall(r"^\s*(?:import|from) (\w+)", text, re.MULTILINE):
                if module not in sys.stdlib_module_names and not script.with_name(f"{module}.py").exists():
                    libraries.add(module)
        self.assertIn("boto3", libraries)
        self.assertEqual({name: pinned.get(name) for name in libraries}, {name: tested.get(name) for name in libraries})

    def test_the_settings_name_files_of_the_list(self) -> None:
        environment = LISTED["run"]["environment"]
        self.assertEqual(environment["CHARTER_MODEL__DIRECTORY"], f"/{LISTED['model']['directory']}")
        self.assertEqual(environment["CHARTER_TOOLS__PYTHON"], f"/{LISTED['python']['directory']}/bin/python")
        self.assertEqual(LISTED["run"]["entrypoint"], [f"/{LISTED['program']['file']}"])
        self.assertEqual(LISTED["run"]["user"], f"{LISTED['user']['id']}:{LISTED['user']['id']}")
        self.assertIn(LISTED["run"]["volume"].removeprefix("/"), LISTED["user"]["directories"])

    def test_the_servers_of_the_compose_file_have_the_health_check_of_the_image(self) -> None:
        lines = (ROOT / "deploy/compose.yaml").read_text(encoding="utf-8").splitlines()
        checks = [line.strip() for line in lines if "healthcheck:" in line]
        # Of the database, and of two services that end by themselves.
        self.assertEqual(checks, ["healthcheck:", "healthcheck: {disable: true}", "healthcheck: {disable: true}"])


class LayoutTest(unittest.TestCase):
    """The image is made of the root file system, in layers."""

    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def write_root(self, name: str, content: str) -> Path:
        tree = self.folder / f"{name}-tree"
        for path in ("etc/passwd", "opt/charter/models/model", "usr/local/bin/charter"):
            (tree / path).parent.mkdir(parents=True, exist_ok=True)
            (tree / path).write_text(content, encoding="utf-8")
        root = self.folder / f"{name}.tar"
        with tarfile.open(root, "w") as tar:
            tar.add(tree, ".")
        return root

    def test_a_file_is_in_the_layer_of_its_path_with_its_parents(self) -> None:
        order = LISTED["layers"]["order"]
        root = self.write_root("root", "content")
        layers = oci.split(root, len(order) + 1, lambda path: image.layer_of(path, order), self.folder, 0)
        names = []
        for layer in layers:
            with tarfile.open(layer.path) as tar:
                names.append([member.name for member in tar if member.isfile()])
        expected = [["etc/passwd"], [], ["opt/charter/models/model"], ["usr/local/bin/charter"]]
        self.assertEqual(names, expected)
        with tarfile.open(layers[3].path) as tar:
            self.assertEqual(tar.getnames(), ["usr", "usr/local", "usr/local/bin", "usr/local/bin/charter"])

    def test_equal_root_file_systems_make_equal_images(self) -> None:
        digests = []
        for name in ("one", "other"):
            folder = self.folder / name
            folder.mkdir()
            layers = oci.split(self.write_root(name, "content"), 1, lambda _: 0, folder, 1)
            kind = oci.Image("amd64", "1970-01-01T00:00:01Z", image.configuration(LISTED, "1.2.3"), "1.2.3")
            digests.append(oci.write_layout(folder / "image", kind, layers))
        self.assertEqual(digests[0], digests[1])

    def test_a_file_with_other_content_is_a_difference(self) -> None:
        one, other = (image.described(self.write_root(text, text)) for text in ("one", "other"))
        self.assertEqual(image.differences(one, one), [])
        changed = [line.split(":")[0] for line in image.differences(one, other)]
        self.assertEqual(changed, ["etc/passwd", "opt/charter/models/model", "usr/local/bin/charter"])

    def test_the_compose_file_and_the_chart_of_a_release_name_the_image_by_its_digest(self) -> None:
        digest = f"sha256:{'5' * 64}"
        entries = {entry.name: entry.read().decode() for entry in image.deployment(digest, "registry.example.com/c")}
        named = f"image: ${{CHARTER_IMAGE:-registry.example.com/c@{digest}}}"
        self.assertIn(named, entries["deploy/compose.yaml"])
        self.assertNotIn("build:", entries["deploy/compose.yaml"])
        self.assertIn(f'digest: "{digest}"', entries["deploy/helm/charter/values.yaml"])
        self.assertIn("repository: registry.example.com/c\n", entries["deploy/helm/charter/values.yaml"])


if __name__ == "__main__":
    unittest.main()
