/** Tests in a real Chromium over a real server: one at a time, because each file starts servers of its own. */

import { defineConfig } from "@playwright/test";

import { browser } from "./browser/browser.ts";

const { path, args, environment } = browser();

export default defineConfig({
  testDir: "tests",
  outputDir: "../target/console/results",
  workers: 1,
  timeout: 180_000,
  expect: { timeout: 10_000 },
  reporter: [["list"]],
  use: {
    viewport: { width: 1360, height: 860 },
    launchOptions: { executablePath: path, args, env: { ...process.env, ...environment } },
    trace: "retain-on-failure",
  },
});
