/** How the console is built: hashed files below `dist/assets`, each beside its Brotli form. */

import { readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { brotliCompressSync } from "node:zlib";

import react from "@vitejs/plugin-react";
import { defineConfig, type Plugin, type ProxyOptions } from "vite";

/** Files below this many bytes are sent as they are. */
const LEAST_TO_COMPRESS = 1_024;

const DIST = fileURLToPath(new URL("dist", import.meta.url));

/** Takes the last build's files away and puts `NAME.br` beside the new ones. The folder itself stays: the
 * server is compiled with it. */
function compressed(): Plugin {
  return {
    name: "compressed",
    apply: "build",
    buildStart: () => rmSync(join(DIST, "assets"), { recursive: true, force: true }),
    closeBundle() {
      for (const name of readdirSync(DIST, { recursive: true, encoding: "utf8" })) {
        const path = join(DIST, name);
        if (name.endsWith(".br") || !/\.(html|js|css|svg)$/.test(name)) continue;
        if (statSync(path).size < LEAST_TO_COMPRESS) rmSync(`${path}.br`, { force: true });
        else writeFileSync(`${path}.br`, brotliCompressSync(readFileSync(path)));
      }
    },
  };
}

/** Graphs are drawn on few screens, and are large. */
const GRAPHS = /node_modules\/(@xyflow|@dagrejs|d3-|zustand|react-number-format)/;

/** What several screens are made of comes as one file, with the page: a screen then asks for little more than its own. */
const SHARED = { name: "shared", minShareCount: 4, test: (id: string) => !GRAPHS.test(id) };

/** What the server allows the page, so that a preview breaks where it would. */
const POLICY =
  "default-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; connect-src 'self'; " +
  "frame-ancestors 'none'; base-uri 'none'; form-action 'none'; object-src 'none'";

/** The server that the console is developed against. */
const server = process.env["CHARTER_SERVER"] ?? "http://127.0.0.1:7407";
const forwarded: ProxyOptions = {
  target: server,
  // The head of a stream goes on at once, not with its first event.
  configure: (proxy) =>
    proxy.on("proxyRes", (_answer, _request, response) => {
      setImmediate(() => "flushHeaders" in response && !response.headersSent && response.flushHeaders());
    }),
};
const proxy = Object.fromEntries(
  ["/v1", "/healthz", "/readyz", "/metrics"].map((path) => [path, forwarded]),
);

export default defineConfig({
  base: "/console/",
  plugins: [react(), compressed()],
  resolve: { alias: { "~": fileURLToPath(new URL("src", import.meta.url)) } },
  build: {
    outDir: "dist",
    emptyOutDir: false,
    target: "es2022",
    assetsInlineLimit: 0,
    rolldownOptions: { output: { codeSplitting: { groups: [SHARED] } } },
  },
  server: { proxy },
  preview: { proxy, headers: { "Content-Security-Policy": POLICY } },
});
