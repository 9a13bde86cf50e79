/** Reads a chosen directory as the files of a package. */

import type { PackageFiles } from "@charter/client";

/** Bytes of a package that are read; the server's own limit may be lower. */
export const MOST_BYTES = 15 * 1_024 * 1_024;

/** Names of directories that are no part of a package. */
const LEFT_OUT = new Set([".git", "node_modules", "__pycache__"]);

/** A chosen file with its path from the chosen directory on: `aws-security/tools/a.yaml`. */
export interface ChosenFile {
  webkitRelativePath: string;
  name: string;
  size: number;
  text(): Promise<string>;
  arrayBuffer(): Promise<ArrayBuffer>;
}

/** The path of a file within its package; absent for what is no part of one. */
export function pathWithin({ webkitRelativePath, name }: Pick<ChosenFile, "webkitRelativePath" | "name">): string | undefined {
  const [, ...parts] = webkitRelativePath === "" ? ["", name] : webkitRelativePath.split("/");
  const isLeftOut = parts.some((part) => part.startsWith(".") || LEFT_OUT.has(part));
  return isLeftOut || parts.length === 0 ? undefined : parts.join("/");
}

/** The files of a package by path: texts, and PDFs in base64. */
export async function filesOf(chosen: readonly ChosenFile[]): Promise<PackageFiles> {
  const kept = chosen.flatMap((file) => {
    const path = pathWithin(file);
    return path === undefined ? [] : [{ path, file }];
  });
  const size = kept.reduce((sum, { file }) => sum + file.size, 0);
  if (size > MOST_BYTES) throw new Error(`The directory has ${size} bytes; a package has at most ${MOST_BYTES}.`);
  if (!kept.some(({ path }) => path === "package.yaml")) {
    throw new Error("The directory has no package.yaml: choose the directory that has it.");
  }
  const read = kept.map(async ({ path, file }): Promise<[string, string]> => [path, await contentOf(path, file)]);
  return Object.fromEntries(await Promise.all(read));
}

async function contentOf(path: string, file: ChosenFile): Promise<string> {
  return path.toLowerCase().endsWith(".pdf") ? base64(new Uint8Array(await file.arrayBuffer())) : file.text();
}

/** Bytes that are turned into text at once. */
const PART = 0x8000;

function base64(bytes: Uint8Array): string {
  let text = "";
  for (let at = 0; at < bytes.length; at += PART) text += String.fromCharCode(...bytes.subarray(at, at + PART));
  return btoa(text);
}
