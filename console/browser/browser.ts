/** The browser that tests and measurements run in: the one that `make` unpacks, or the one that CHROMIUM names. */

import { existsSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

/** Where `unpack.ts` puts it. */
export const BROWSER = fileURLToPath(new URL("../../target/console/browser", import.meta.url));

/** The libraries that it brings along, and the only fonts that it sees: screens look alike on every machine. */
const ITS_OWN = { LD_LIBRARY_PATH: join(BROWSER, "al2023", "lib"), FONTCONFIG_FILE: join(BROWSER, "fonts.conf") };

/** How a browser is begun, as Playwright takes it. */
export interface Browser {
  executablePath: string;
  args: string[];
  env: NodeJS.ProcessEnv;
}

const ARGS = [
  "--no-sandbox",
  "--disable-gpu",
  "--disable-quic",
  "--no-first-run",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
];

/** The browser of this machine; an error says how one is installed. */
export function browser(): Browser {
  const named = process.env["CHROMIUM"];
  const executablePath = named ?? join(BROWSER, "chromium");
  if (!existsSync(executablePath)) {
    throw new Error(`there is no browser at ${executablePath}: \`make browser\` unpacks one, or name another one in CHROMIUM`);
  }
  return { executablePath, args: ARGS, env: { ...process.env, ...(named === undefined ? ITS_OWN : {}) } };
}
