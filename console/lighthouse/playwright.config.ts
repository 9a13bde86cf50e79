/** Measures by themselves: figures that a machine and its load decide are no tests. */

import { defineConfig } from "@playwright/test";

import { browser } from "../browser/browser.ts";

export default defineConfig({
  testDir: ".",
  outputDir: "../../target/console/lighthouse/results",
  workers: 1,
  timeout: 1_800_000,
  reporter: [["list"]],
  use: { launchOptions: browser() },
});
