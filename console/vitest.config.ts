/** Unit tests of what needs neither a browser nor a server. */

import { fileURLToPath } from "node:url";

import { defineConfig } from "vitest/config";

export default defineConfig({
  resolve: { alias: { "~": fileURLToPath(new URL("src", import.meta.url)) } },
  test: { include: ["unit/**/*.test.ts"], environment: "node" },
});
