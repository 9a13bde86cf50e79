/** Schedules: enabled, run now, paused and deleted; reports with new, unchanged and resolved findings. */

import { readFile } from "node:fs/promises";

import { files } from "./at-work";
import { apiOf } from "./estate";
import { consoleOver, expect, looksRight, test } from "./support";

/** How long an occurrence and its report may take, in milliseconds. */
const ENDS_MS = 60_000;

/** A schedule of a package: the levels of tanks each night. */
const NIGHTLY = {
  schedule_id: "yard.nightly",
  domain: "yard",
  title: "Tanks each night",
  description: "Finds tanks that are nearly full.",
  when: { cron: { expression: "0 2 * * *", time_zone: "Europe/Paris" } },
  run: { skill: "yard.levels" },
  parameters: { site: "north" },
};

/** The yard's package with a schedule. */
const scheduled = (): Record<string, string> => ({ ...files("0.1.0"), "schedules/nightly.yaml": JSON.stringify(NIGHTLY) });

test("a schedule of a package is enabled and run, and its reports compare findings", async ({ page }) => {
  test.setTimeout(180_000);
  const { url, server, stop } = await consoleOver();
  try {
    await apiOf(server.url).post("/v1/packages", { files: scheduled() });
    await page.goto(`${url}/schedules`);
    await expect(page.getByRole("heading", { name: "No schedule is enabled" })).toBeVisible();
    await page.getByRole("link", { name: "Enable a schedule" }).click();
    await expect(page.getByRole("list", { name: "Schedules of packages" })).toContainText("yard.nightly");
    await looksRight(page, "schedule-enable");
    await page.getByRole("button", { name: "Enable Tanks each night" }).click();
    await expect(page.getByRole("heading", { level: 1, name: "Tanks each night" })).toBeVisible();
    await expect(page.getByRole("region", { name: "Definition" })).toContainText("0 2 * * * (Europe/Paris)");

    await page.getByRole("button", { name: "Run now" }).click();
    const occurrences = page.getByRole("table", { name: "Occurrences" });
    const first = occurrences.getByRole("link", { name: "1 new, 0 unchanged, 0 resolved" });
    await expect(first).toBeVisible({ timeout: ENDS_MS });
    await expect(occurrences.getByRole("link", { name: "request" })).toBeVisible();
    await looksRight(page, "schedule");
    await first.click();
    const found = page.getByRole("list", { name: "New findings" });
    await expect(found.getByRole("listitem")).toHaveCount(1);
    await expect(found).toContainText("yard.tank t-1");
    await looksRight(page, "schedule-report");
    const saved = page.waitForEvent("download");
    await page.getByRole("button", { name: "Download as Markdown" }).click();
    const download = await saved;
    expect(download.suggestedFilename()).toBe("yard.nightly.md");
    expect(await readFile(await download.path(), "utf8")).toContain("t-1");
    await found.getByRole("link", { name: /^evidence ev_/ }).click();
    await expect(page).toHaveURL(/\/evidence\/ev_/);

    // The overview has the new findings of the latest report.
    await page.getByRole("link", { name: "Overview" }).click();
    const news = page.getByRole("region", { name: "New findings" });
    await expect(news.getByRole("listitem")).toContainText("1 high");
    await news.getByRole("link", { name: "Tanks each night" }).click();
    await expect(page.getByRole("heading", { level: 1, name: "Report: Tanks each night" })).toBeVisible();
    await page.getByRole("link", { name: "Tanks each night" }).click();

    await page.getByRole("button", { name: "Run now" }).click();
    await expect(occurrences.getByRole("link", { name: "0 new, 1 unchanged, 0 resolved" })).toBeVisible({ timeout: ENDS_MS });
    await page.getByRole("link", { name: "Overview" }).click();
    await expect(news).toContainText("The latest report of a schedule has no new finding.");
  } finally {
    await stop();
  }
});

test("a schedule is defined by its fields, paused, resumed and deleted", async ({ page }) => {
  test.setTimeout(120_000);
  const { url, server, stop } = await consoleOver();
  try {
    await apiOf(server.url).post("/v1/packages", { files: files("0.1.0") });
    await page.goto(`${url}/schedules/enable`);
    const enable = page.getByRole("button", { name: "Enable the schedule" });
    await expect(enable).toBeDisabled();
    await page.getByLabel("Schedule id").fill("yard.hourly");
    await page.getByLabel("Title").fill("Tanks each hour");
    await page.getByLabel("Skill", { exact: true }).selectOption("yard.levels");
    await page.getByLabel("Parameters", { exact: true }).fill("{site");
    await expect(page.getByText("This is not a JSON object.")).toBeVisible();
    await page.getByLabel("Parameters", { exact: true }).fill('{"site": "south"}');
    await page.getByLabel("When", { exact: true }).selectOption("interval");
    await page.getByLabel("Interval").fill("60");
    await looksRight(page, "schedule-form");
    await enable.click();
    await expect(page.getByRole("heading", { level: 1, name: "Tanks each hour" })).toBeVisible();
    await expect(page.getByRole("region", { name: "Definition" })).toContainText("every 1 h");
    await expect(page.getByLabel("Parameters", { exact: true })).toContainText('"site": "south"');

    const head = page.locator(".page-head");
    await page.getByRole("button", { name: "Pause" }).click();
    await expect(head.getByText("paused")).toBeVisible();
    await expect(page.getByRole("button", { name: "Run now" })).toBeHidden();
    await page.getByRole("button", { name: "Resume" }).click();
    await expect(head.getByText("active")).toBeVisible();
    await page.goto(`${url}/schedules`);
    await expect(page.getByRole("table", { name: "Schedules" })).toContainText("every 1 h");
    await looksRight(page, "schedules");
    await page.getByRole("link", { name: "Tanks each hour" }).click();
    await page.getByRole("button", { name: "Delete", exact: true }).click();
    await page.getByRole("button", { name: "Delete the schedule" }).click();
    await expect(page.getByRole("heading", { name: "No schedule is enabled" })).toBeVisible();
  } finally {
    await stop();
  }
});
