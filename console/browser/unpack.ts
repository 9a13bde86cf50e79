/**
 * Unpacks the browser that tests run in, from packages of the registry: a headless Chromium with the libraries that
 * it needs, and fonts. Nothing of it is installed on the machine, so that nobody has to be root.
 */

import { copyFileSync, mkdirSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

import { inflate } from "@sparticuz/chromium";

import { BROWSER } from "./browser.ts";

/** The packed browser is built for this processor alone. */
const BUILT_FOR = "x64";

/** What stands for a word of CSS where no font has that name. */
const FONTS = { "system-ui": "Open Sans", "sans-serif": "Open Sans", "ui-monospace": "DejaVu Sans Mono", monospace: "DejaVu Sans Mono" };

const packed = (name: string) => fileURLToPath(new URL(".", import.meta.resolve(name)));

/** Unpacks every archive of the package; it puts them into the folder for temporary files. */
async function unpackBrowser(): Promise<void> {
  process.env["TMPDIR"] = BROWSER;
  const archives = join(packed("@sparticuz/chromium"), "..", "bin");
  for (const name of readdirSync(archives)) await inflate(join(archives, name));
}

/** Puts fonts beside it that the package lacks, of one width and with signs, and says which stands for what. */
function unpackFonts(): void {
  const fonts = join(BROWSER, "fonts");
  const source = join(packed("dejavu-fonts-ttf/package.json"), "ttf");
  for (const name of ["DejaVuSans.ttf", "DejaVuSansMono.ttf", "DejaVuSansMono-Bold.ttf"]) {
    copyFileSync(join(source, name), join(fonts, name));
  }
  const aliases = Object.entries(FONTS).map(
    ([family, font]) => `  <alias binding="strong"><family>${family}</family><prefer><family>${font}</family></prefer></alias>\n`,
  );
  const cache = join(BROWSER, "fonts-cache");
  const text = `<?xml version="1.0"?>\n<fontconfig>\n  <dir>${fonts}</dir>\n  <cachedir>${cache}</cachedir>\n${aliases.join("")}</fontconfig>\n`;
  writeFileSync(join(BROWSER, "fonts.conf"), text);
}

if (process.arch !== BUILT_FOR) {
  throw new Error(`the packed browser is built for ${BUILT_FOR} and not for ${process.arch}: name another one in CHROMIUM`);
}
rmSync(BROWSER, { recursive: true, force: true });
mkdirSync(BROWSER, { recursive: true });
await unpackBrowser();
unpackFonts();
