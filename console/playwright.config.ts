/**
 * Tests in a real Chromium over real servers, two files at a time; what measures comes after all others, by itself.
 */

import { defineConfig } from "@playwright/test";

import { browser } from "./browser/browser.ts";

/** Tests whose figures others would disturb. */
const MEASURED = /@measured/;

export default defineConfig({
  testDir: "tests",
  outputDir: "../target/console/results",
  workers: 2,
  projects: [
    { name: "stories", grepInvert: MEASURED },
    { name: "measured", grep: MEASURED, workers: 1, dependencies: ["stories"] },
  ],
  timeout: 180_000,
  expect: { timeout: 10_000 },
  reporter: [["list"]],
  use: {
    viewport: { width: 1360, height: 860 },
    launchOptions: browser(),
    trace: "retain-on-failure",
  },
});
