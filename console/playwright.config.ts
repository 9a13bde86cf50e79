/**
 * Tests in a real Chromium over real servers, several files at a time; what measures comes after all others, by itself.
 */

import { defineConfig } from "@playwright/test";

import { browser } from "./browser/browser.ts";

/** Tests whose figures others would disturb. */
const MEASURED = /@measured/;

export default defineConfig({
  testDir: "tests",
  outputDir: "../target/console/results",
  workers: 3,
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
    // A trace takes a third of the time of a story: TRACE=1 asks for those of stories that fail.
    trace: process.env["TRACE"] ? "retain-on-failure" : "off",
    screenshot: "only-on-failure",
  },
});
