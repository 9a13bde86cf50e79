/** Screenshots for the documentation: by themselves, because they are no tests. */

import { defineConfig } from "@playwright/test";

import { browser } from "../browser/browser.ts";

export default defineConfig({
  testDir: ".",
  outputDir: "../../target/console/screenshots/results",
  workers: 1,
  timeout: 300_000,
  expect: { timeout: 30_000 },
  reporter: [["list"]],
  use: { launchOptions: browser(), colorScheme: "light" },
});
