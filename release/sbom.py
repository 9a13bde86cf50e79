"""The bill of materials of a release, as CycloneDX 1.6: crates, npm packages of the console, and the embedding model.

    sbom.py --version VERSION --target TRIPLE --model DIRECTORY --output FILE

Crates are those that the binary links or that compute a part of it, from `cargo metadata` for the target; their digests
are those of Cargo.lock. npm packages are the console's dependencies in package-lock.json without those for development.
Nothing is downloaded or compiled.
"""

from __future__ import annotations

import argparse
import base64
import datetime
import hashlib
import json
import subprocess
import tomllib
import uuid
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
BINARY_CRATE = "charter-cli"

Component = dict[str, Any]


def metadata(target: str) -> dict[str, Any]:
    """Return what Cargo knows of the workspace and its dependencies for a target."""
    command = ["cargo", "metadata", "--locked", "--format-version", "1", "--filter-platform", target]
    done = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, check=False)
    if done.returncode != 0:
        raise SystemExit(f"sbom: `{' '.join(command)}` failed with exit code {done.returncode}")
    loaded: dict[str, Any] = json.loads(done.stdout)
    return loaded


def linked(found: dict[str, Any]) -> tuple[set[str], dict[str, set[str]]]:
    """Return the ids of the crates in the binary, and the dependencies of each crate without those of tests."""
    edges = {
        node["id"]: {dep["pkg"] for dep in node["deps"] if any(kind["kind"] != "dev" for kind in dep["dep_kinds"])}
        for node in found["resolve"]["nodes"]
    }
    [binary] = [package["id"] for package in found["packages"] if package["name"] == BINARY_CRATE]
    reached, waiting = {binary}, [binary]
    while waiting:
        new = edges[waiting.pop()] - reached
        reached |= new
        waiting += new
    return reached, edges


def crates(found: dict[str, Any], lock: dict[str, Any]) -> tuple[list[Component], list[Component]]:
    """Return the components of crates, and their dependencies."""
    checksums = {(p["name"], p["version"]): p.get("checksum") for p in lock["package"]}
    reached, edges = linked(found)
    packages = {package["id"]: package for package in found["packages"]}
    refs = {id: f"pkg:cargo/{packages[id]['name']}@{packages[id]['version']}" for id in reached}
    components = []
    for id, ref in refs.items():
        package = packages[id]
        component: Component = {
            "type": "library",
            "bom-ref": ref,
            "name": package["name"],
            "version": package["version"],
            "purl": ref,
        }
        if package["license"]:
            # Older manifests separate alternatives by a slash.
            component["licenses"] = [{"expression": package["license"].replace("/", " OR ")}]
        if checksum := checksums[package["name"], package["version"]]:
            component["hashes"] = [{"alg": "SHA-256", "content": checksum}]
        if package["repository"]:
            component["externalReferences"] = [{"type": "vcs", "url": package["repository"]}]
        components.append(component)
    depends = [{"ref": ref, "dependsOn": sorted(refs[d] for d in edges[id])} for id, ref in refs.items()]
    return components, depends


def npm(lock: dict[str, Any]) -> list[Component]:
    """Return the components of npm packages that the console ships."""
    components = {}
    for path, package in lock["packages"].items():
        _, separator, name = path.rpartition("node_modules/")
        if not separator or package.get("dev") or package.get("link") or package.get("optional"):
            continue
        ref = f"pkg:npm/{name.replace('@', '%40', 1)}@{package['version']}"
        component: Component = {
            "type": "library",
            "bom-ref": ref,
            "name": name,
            "version": package["version"],
            "purl": ref,
        }
        if "license" in package:
            component["licenses"] = [{"expression": package["license"]}]
        if package.get("integrity", "").startswith("sha512-"):
            digest = base64.b64decode(package["integrity"].removeprefix("sha512-")).hex()
            component["hashes"] = [{"alg": "SHA-512", "content": digest}]
        components[ref] = component
    return list(components.values())


def model(directory: Path) -> Component:
    """Return the component of the embedding model."""
    digest = hashlib.sha256((directory / "model.safetensors").read_bytes()).hexdigest()
    return {
        "type": "machine-learning-model",
        "bom-ref": f"model:{directory.name}",
        "name": directory.name,
        "group": "sentence-transformers",
        "purl": f"pkg:huggingface/sentence-transformers/{directory.name}",
        "licenses": [{"license": {"id": "Apache-2.0"}}],
        "hashes": [{"alg": "SHA-256", "content": digest}],
    }


def bill(version: str, target: str, model_directory: Path | None, epoch: int) -> dict[str, Any]:
    """Return the whole bill of materials."""
    locked = tomllib.loads((ROOT / "Cargo.lock").read_text(encoding="utf-8"))
    components, depends = crates(metadata(target), locked)
    components += npm(json.loads((ROOT / "package-lock.json").read_text(encoding="utf-8")))
    components += [model(model_directory)] if model_directory else []
    ref = f"pkg:generic/charter@{version}"
    subject = {
        "type": "application",
        "bom-ref": ref,
        "name": "charter",
        "version": version,
        "purl": ref,
        "licenses": [{"license": {"id": "Apache-2.0"}}],
        "properties": [{"name": "charter:target", "value": target}],
    }
    known = {entry["ref"] for entry in depends}
    direct = [next(r for r in known if r.startswith(f"pkg:cargo/{BINARY_CRATE}@"))]
    direct += [component["bom-ref"] for component in components if component["bom-ref"] not in known]
    return {
        "$schema": "http://cyclonedx.org/schema/bom-1.6.schema.json",
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "serialNumber": f"urn:uuid:{uuid.uuid5(uuid.NAMESPACE_URL, f'{ref}#{target}#{epoch}')}",
        "version": 1,
        "metadata": {
            "timestamp": datetime.datetime.fromtimestamp(epoch, datetime.UTC).isoformat().replace("+00:00", "Z"),
            "component": subject,
        },
        "components": sorted(components, key=lambda component: str(component["bom-ref"])),
        "dependencies": sorted(
            [*depends, {"ref": ref, "dependsOn": sorted(direct)}], key=lambda entry: str(entry["ref"])
        ),
    }


def to_json(document: dict[str, Any]) -> bytes:
    """Return the text of a document; equal documents have equal bytes."""
    return (json.dumps(document, indent=2, ensure_ascii=False) + "\n").encode()


def main() -> None:
    """Write the bill of materials of one target."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--version", required=True)
    parser.add_argument("--target", required=True)
    parser.add_argument("--model", type=Path, help="the directory with the embedding model's files")
    parser.add_argument("--epoch", type=int, required=True, help="the time of the commit, in seconds")
    parser.add_argument("--output", type=Path, required=True)
    given = parser.parse_args()
    given.output.write_bytes(to_json(bill(given.version, given.target, given.model, given.epoch)))


if __name__ == "__main__":
    main()
