/** What the component library draws has its styles: the console loads those of the parts that it uses alone. */

import { existsSync } from "node:fs";
import { readdir, readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";

import { expect, test } from "@playwright/test";

const SOURCE = join(import.meta.dirname, "..", "src");

const LIBRARY = dirname(createRequire(import.meta.url).resolve("@mantine/core/styles/Text.css"));

test("every part of the component library that is used has its styles", async () => {
  const loaded = await readFile(join(SOURCE, "styles", "mantine.css"), "utf8");
  const missing = [...(await imported())].filter(
    (name) => existsSync(join(LIBRARY, `${name}.css`)) && !loaded.includes(`/styles/${name}.css`),
  );
  expect(missing).toEqual([]);
});

/** Names that the sources import from the library. */
async function imported(): Promise<Set<string>> {
  const names = new Set<string>();
  for (const file of await readdir(SOURCE, { recursive: true })) {
    if (!file.endsWith(".tsx")) continue;
    const text = await readFile(join(SOURCE, file), "utf8");
    for (const [, listed = ""] of text.matchAll(/import \{([^}]*)\} from "@mantine\/core"/g)) {
      for (const name of listed.split(",")) names.add(name.trim());
    }
  }
  expect(names.size, "imports are found").toBeGreaterThan(20);
  return names;
}
