/** Tests in a real Chromium over a real server: one at a time, because each file starts servers of its own. */

import { existsSync } from "node:fs";

import { defineConfig } from "@playwright/test";

const chromium = process.env["CHROMIUM"] ?? "/usr/bin/chromium";
if (!existsSync(chromium)) {
  throw new Error(
    `there is no Chromium at ${chromium}: install it, on Debian with \`apt-get install chromium\`, ` +
      "or name another one in CHROMIUM",
  );
}

export default defineConfig({
  testDir: "tests",
  outputDir: "../target/console/results",
  workers: 1,
  timeout: 180_000,
  expect: { timeout: 10_000 },
  reporter: [["list"]],
  use: {
    viewport: { width: 1360, height: 860 },
    launchOptions: {
      executablePath: chromium,
      args: [
        "--no-sandbox",
        "--disable-gpu",
        "--disable-quic",
        "--no-first-run",
        "--disable-background-networking",
        "--disable-component-update",
        "--disable-sync",
      ],
    },
    trace: "retain-on-failure",
  },
});
