/** Sign-in at a real identity provider: by itself, because the provider is a dependency of its own. */

import { defineConfig } from "@playwright/test";

import { browser } from "../browser/browser.ts";

export default defineConfig({
  testDir: ".",
  outputDir: "../../target/console/provider/results",
  workers: 1,
  timeout: 120_000,
  expect: { timeout: 10_000 },
  reporter: [["list"]],
  use: { viewport: { width: 1360, height: 860 }, launchOptions: browser() },
});
