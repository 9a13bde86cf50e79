/**
 * Takes the six screenshots of the documentation over the simulated account: the overview, an approval of a list, and the
 * report of a schedule, each on a desktop and on a phone. They have 64 colours, which keeps them small.
 */

import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";

import { ROOT } from "../../clients/typescript/tests/server";
import { type Estate, test } from "../tests/estate";
import { expect } from "../tests/support";
import { withPalette } from "./palette";

const OUT = join(ROOT, "docs", "screenshots");

const FORMS = { desktop: { width: 1360, height: 860 }, phone: { width: 390, height: 844 } };

/** How long the check of the account may take, in milliseconds. */
const ENDS_MS = 120_000;

const NIGHTLY = {
  schedule_id: "security.nightly_exposure",
  title: "Nightly exposure check",
  when: { cron: { expression: "0 2 * * *", time_zone: "Europe/Paris" } },
  run: { skill: "security.detect_public_ingress" },
  parameters: { region: "us-east-1" },
};

test("six screenshots are taken", async ({ page, estate }) => {
  await reported(estate);
  const { approval } = await estate.remediation({ group_ids: [] });
  const screens = {
    overview: ["", "Overview"],
    approval: [`approvals/${approval}`, /^aws\./],
    report: [`schedules/${NIGHTLY.schedule_id}/report`, `Report: ${NIGHTLY.title}`],
  } as const;
  mkdirSync(OUT, { recursive: true });
  for (const [form, size] of Object.entries(FORMS)) {
    await page.setViewportSize(size);
    for (const [name, [path, heading]] of Object.entries(screens)) {
      await page.goto(`${estate.url}/${path}`);
      await expect(page.getByRole("heading", { level: 1, name: heading })).toBeVisible();
      await expect(page.getByLabel("Loading")).toHaveCount(0);
      await page.evaluate(() => document.fonts.ready);
      writeFileSync(join(OUT, `${name}-${form}.png`), withPalette(await page.screenshot({ animations: "disabled" })));
    }
  }
});

/** Runs the nightly check, and waits for its report. */
async function reported({ api }: Estate): Promise<void> {
  await api.post("/v1/schedules", { schedule: NIGHTLY });
  await api.post(`/v1/schedules/${NIGHTLY.schedule_id}/start`);
  const latest = `/v1/schedules/${NIGHTLY.schedule_id}/occurrences/latest`;
  const isThere = () => api.get(latest).then(() => true, () => false);
  await expect.poll(isThere, { timeout: ENDS_MS }).toBe(true);
}
