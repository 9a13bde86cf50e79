/**
 * What every story needs: a server with packages, a page that fails on any error in the browser's console,
 * and a look at each screen in both colour schemes, with axe.
 */

import { type ChildProcess, spawn } from "node:child_process";
import { mkdirSync } from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";

import AxeBuilder from "@axe-core/playwright";
import { expect, type Page, test as base } from "@playwright/test";

import { ROOT, Server, type ServerOptions } from "../../clients/typescript/tests/server";

export { expect, type Page };

/** Where looks at screens are kept. */
export const SCREENSHOTS = join(ROOT, "target", "console", "screenshots");

/** Packages that most stories are told with. */
export const PACKAGES = ["aws-security", "cost-hygiene", "crm-leads"];

/** A server with the console before it. */
export interface Console {
  server: Server;
  /** The address of the console's first screen, without a slash at its end. */
  url: string;
}

/** Starts a server that serves the console; `stop` ends it. */
export async function consoleOver(
  options: ServerOptions = {},
  before?: (charter: (...words: string[]) => Promise<string>) => Promise<void>,
): Promise<Console & { stop: () => Promise<void> }> {
  const server = await Server.start(options, before);
  const { url, stop } = await served(server);
  return {
    server,
    url,
    stop: async () => {
      await stop();
      await server.stop();
    },
  };
}

/** The console as the binary serves it, or as Vite does where somebody asked for that. */
async function served(server: Server): Promise<{ url: string; stop: () => Promise<void> }> {
  if (process.env["CONSOLE_FROM"] === "preview") return preview(server.url);
  const url = `${server.url}/console`;
  if (await answers(url)) return { url, stop: () => Promise.resolve() };
  await server.stop();
  throw new Error("the binary has no console: `make console build` makes one, CONSOLE_FROM=preview does without");
}

/** Serves the console's build before a server. */
async function preview(server: string): Promise<{ url: string; stop: () => Promise<void> }> {
  const port = await freePort();
  const vite = join(ROOT, "node_modules", "vite", "bin", "vite.js");
  const words = [vite, "preview", "--host", "127.0.0.1", "--port", String(port), "--strictPort"];
  const child = spawn(process.execPath, words, {
    cwd: join(ROOT, "console"),
    env: { ...process.env, CHARTER_SERVER: server },
    stdio: "ignore",
  });
  const url = `http://127.0.0.1:${port}/console`;
  await expect.poll(() => answers(url), { timeout: 30_000 }).toBe(true);
  return { url, stop: () => ended(child) };
}

async function answers(url: string): Promise<boolean> {
  return fetch(`${url}/`).then(
    (response) => response.ok,
    () => false,
  );
}

function ended(child: ChildProcess): Promise<void> {
  return new Promise((done) => {
    child.once("exit", () => done());
    child.kill("SIGTERM");
  });
}

/** A port of loopback that nobody listens on. */
export function freePort(): Promise<number> {
  return new Promise((found) => {
    const probe = createServer().listen(0, "127.0.0.1", () => {
      const address = probe.address();
      const port = typeof address === "object" && address !== null ? address.port : 0;
      probe.close(() => found(port));
    });
  });
}

/** What the tenant of these stories changed in the package that everybody has. */
function theirs(files: Record<string, string>): void {
  const skill = "skills/cost.detect_idle_resources.yaml";
  files["package.yaml"] = (files["package.yaml"] ?? "").replace(/^version: .*$/m, "version: 99.0.0");
  files[skill] = (files[skill] ?? "").replace("display_name: Detect Idle Resources", "display_name: Find What Idles");
}

interface Fixtures {
  /** A server of the test's own, on loopback and without keys, with nothing in it. */
  fresh: Console;
  /** Fails the test on errors in the browser's console and on refused resources. */
  quiet: void;
}

interface WorkerFixtures {
  /** A server on loopback without keys, with the example packages in force. Shared: change nothing in it. */
  filled: Console;
}

export const test = base.extend<Fixtures, WorkerFixtures>({
  filled: [
    async ({}, use) => {
      const { stop, ...console } = await consoleOver({ withModel: true });
      await console.server.register(...PACKAGES);
      // The tenant's own over the global one, and a version that changes it.
      await console.server.registerOwn("cost-hygiene");
      await console.server.registerOwn("cost-hygiene", theirs);
      await use(console);
      await stop();
    },
    { scope: "worker", timeout: 180_000 },
  ],
  fresh: async ({}, use) => {
    const { stop, ...console } = await consoleOver();
    await use(console);
    await stop();
  },
  quiet: [
    async ({ page }, use, info) => {
      const said: string[] = [];
      page.on("console", (message) => {
        // An answer that is an error is shown on the screen, where the story looks at it.
        const isAnswer = message.text().startsWith("Failed to load resource");
        if (message.type() === "error" && !isAnswer) said.push(message.text());
      });
      page.on("pageerror", (error) => said.push(String(error)));
      await use();
      if (info.status === "passed") expect(said, "errors in the browser's console").toEqual([]);
    },
    { auto: true },
  ],
});

/** How long the page was busy at a stretch. */
export interface Stalls {
  /** Forgets those so far. */
  forget(): Promise<void>;
  /** The longest, in milliseconds; 0 where none took longer than the 50 that a browser tells of. */
  longest(): Promise<number>;
}

/** Watches for stalls on every page that is opened from here on. */
export async function stallsOf(page: Page): Promise<Stalls> {
  await page.addInitScript(() => {
    const stalls: number[] = [];
    Object.assign(window, { stalls });
    new PerformanceObserver((list) => stalls.push(...list.getEntries().map(({ duration }) => duration))).observe({
      type: "longtask",
    });
  });
  const read = () => page.evaluate(() => (window as unknown as { stalls: number[] }).stalls);
  return {
    forget: () => page.evaluate(() => void (window as unknown as { stalls: number[] }).stalls.splice(0)),
    longest: async () => Math.round(Math.max(0, ...(await read()))),
  };
}

/** Waits until what is under way on the screen has come to its end; a skeleton's pulse has none. */
async function settled(page: Page): Promise<void> {
  await page.evaluate(async () => {
    const frame = () => new Promise((done) => requestAnimationFrame(done));
    // What was just shown begins to move with the frame after the next.
    await frame();
    await frame();
    const moving = document.getAnimations().filter(({ effect }) => effect?.getComputedTiming().endTime !== Infinity);
    await Promise.allSettled(moving.map(({ finished }) => finished));
  });
}

/** Rules of axe whose result depends on colours. */
const COLOUR_RULES = ["color-contrast", "link-in-text-block"];

/**
 * Looks at the screen in both colour schemes: a screenshot of each, and no violation that axe finds. The schemes
 * differ only in colours, so the second is checked only by the rules about colours.
 */
export async function looksRight(page: Page, name: string): Promise<void> {
  mkdirSync(SCREENSHOTS, { recursive: true });
  for (const scheme of ["light", "dark"]) {
    await page.evaluate((value) => {
      // As another tab would change it.
      localStorage.setItem("charter.scheme", value);
      const change = { key: "charter.scheme", newValue: value, storageArea: localStorage };
      dispatchEvent(new StorageEvent("storage", change));
    }, scheme);
    await expect(page.locator("html")).toHaveAttribute("data-mantine-color-scheme", scheme);
    await settled(page);
    await page.screenshot({ path: join(SCREENSHOTS, `${name}-${scheme}.png`) });
    // In the page alone: it has no frames, for whose results axe would open another page each time.
    const axe = new AxeBuilder({ page }).setLegacyMode();
    const { violations } = await (scheme === "light" ? axe : axe.withRules(COLOUR_RULES)).analyze();
    const found = violations.map(({ id, help, nodes }) => ({
      id,
      help,
      at: nodes.slice(0, 5).map(({ html, failureSummary }) => `${html.slice(0, 200)} · ${failureSummary}`),
    }));
    expect(found, `axe on ${name} in ${scheme}`).toEqual([]);
  }
}
