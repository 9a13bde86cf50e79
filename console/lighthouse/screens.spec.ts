/**
 * Lighthouse over the main screens, filled from a simulated account: as a telephone on a slow network, which is its
 * default, and as a desktop. Accessibility must be what is wanted; performance is written down, because a machine and
 * its load decide it. Reports lie in `target/console/lighthouse`.
 */

import { mkdirSync, writeFileSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { loadavg, tmpdir } from "node:os";
import { join } from "node:path";

import { chromium, expect } from "@playwright/test";

import { ROOT } from "../../clients/typescript/tests/server";
import { browser } from "../browser/browser";
import { freePort } from "../tests/support";
import { test } from "../tests/estate";

const OUT = join(ROOT, "target", "console", "lighthouse");

const SCREENS = { overview: "/", catalogue: "/catalogue/skill", runs: "/runs", approvals: "/approvals", evidence: "/evidence" };

/** How often each is measured; the one in the middle counts. */
const TIMES = Number(process.env["TIMES"] ?? 3);

/** The stream of events keeps the network busy for ever: a screen counts as loaded after so many milliseconds. */
const LOADED_MS = 8_000;

/** What accessibility must be, of 100. */
const LEAST_ACCESSIBILITY = 95;

/** What is read of Lighthouse's answer. */
interface Measured {
  report: string;
  lhr: {
    categories: Record<string, { score: number | null }>;
    audits: Record<string, { numericValue?: number }>;
    environment: { benchmarkIndex: number };
  };
}

type Lighthouse = (url: string, flags: object, config?: object) => Promise<Measured>;

interface Module {
  default: Lighthouse;
  desktopConfig: object;
}

test("the main screens are measured", async ({ estate }) => {
  const { default: lighthouse, desktopConfig } = (await import(
    join(OUT, "npm", "node_modules", "lighthouse", "core", "index.js")
  )) as Module;
  await estate.server.charter("ask", "Which of my security groups are open to the internet?", "-p", "region=us-east-1");
  await estate.remediation();
  mkdirSync(OUT, { recursive: true });
  const lines: string[] = [];
  for (const [form, config] of [["mobile", undefined], ["desktop", desktopConfig]] as const) {
    for (const [name, path] of Object.entries(SCREENS)) {
      const all: Measured[] = [];
      for (let time = 0; time < TIMES; time++) all.push(await measured(lighthouse, `${estate.url}${path}`, config));
      const middle = all.sort((a, b) => performance(a) - performance(b))[Math.floor(TIMES / 2)] as Measured;
      writeFileSync(join(OUT, `${name}-${form}.html`), middle.report);
      lines.push(line(name, form, middle));
      console.log(lines.at(-1));
      expect(score(middle, "accessibility"), `accessibility of ${name}`).toBeGreaterThanOrEqual(LEAST_ACCESSIBILITY);
    }
  }
  const head = `| Screen | Form | Performance | Accessibility | First paint | Largest paint | Blocked | Shift |\n|${"---|".repeat(8)}\n`;
  writeFileSync(join(OUT, "figures.md"), `${head}${lines.join("\n")}\n`);
  console.log(`load of the machine: ${loadavg().map((load) => load.toFixed(2)).join(", ")}`);
});

/** Asks Lighthouse once, with a browser that has seen nothing yet. */
async function measured(lighthouse: Lighthouse, url: string, config: object | undefined): Promise<Measured> {
  const options = browser();
  const port = await freePort();
  const profile = await mkdtemp(join(tmpdir(), "charter-lighthouse-"));
  const context = await chromium.launchPersistentContext(profile, {
    ...options,
    args: [...options.args, `--remote-debugging-port=${port}`],
  });
  try {
    const flags = { port, output: "html", logLevel: "error", maxWaitForLoad: LOADED_MS, onlyCategories: ["performance", "accessibility"] };
    return await lighthouse(url, flags, config);
  } finally {
    await context.close();
    await rm(profile, { recursive: true, force: true });
  }
}

function score({ lhr }: Measured, category: string): number {
  return Math.round((lhr.categories[category]?.score ?? 0) * 100);
}

function performance(of: Measured): number {
  return score(of, "performance");
}

function line(name: string, form: string, of: Measured): string {
  const value = (audit: string) => of.lhr.audits[audit]?.numericValue ?? Number.NaN;
  const time = (audit: string) => `${(value(audit) / 1_000).toFixed(1)} s`;
  const words = [
    ...[name, form, performance(of), score(of, "accessibility"), time("first-contentful-paint")],
    ...[time("largest-contentful-paint"), `${Math.round(value("total-blocking-time"))} ms`, value("cumulative-layout-shift").toFixed(3)],
  ];
  return `| ${words.join(" | ")} |`;
}
