/** On a telephone nothing is wider than the screen: tables and texts that are scroll within their own frames. */

import { type AtWork, atWork, TANKS } from "./at-work";
import { expect, looksRight, type Page, test } from "./support";

test.use({ viewport: { width: 390, height: 844 } });

/** A schedule with a report. */
const HOURLY = {
  schedule_id: "yard.hourly",
  title: "Tanks each hour",
  when: { every_s: 3_600 },
  run: { skill: "yard.levels" },
  parameters: { site: "north" },
};

let work: AtWork & { stop: () => Promise<void> };

test.beforeAll(async () => {
  test.setTimeout(240_000);
  work = await atWork();
  await work.api.post("/v1/schedules", { schedule: HOURLY });
  await work.api.post(`/v1/schedules/${HOURLY.schedule_id}/start`);
  const latest = `/v1/schedules/${HOURLY.schedule_id}/occurrences/latest`;
  await expect.poll(() => work.api.get(latest).then(() => true, () => false), { timeout: 60_000 }).toBe(true);
});

test.afterAll(async () => {
  await work?.stop();
});

/** Screens by their paths, with what shows that they are there. */
function screens(mission: string): [path: string, heading: string | RegExp][] {
  return [
    ["", "Overview"],
    ["search?q=yard", "Search"],
    ["ask", "Ask"],
    ["requests", "Requests"],
    [`requests/${work.request}`, /tanks/],
    ["approvals", "Approvals"],
    [`approvals/${work.approval}`, "yard.drain"],
    ["runs", "Runs"],
    [`runs/${work.failed}?step=step_1`, /yard\.drain/],
    [`runs/${work.failed}?tab=timeline`, /yard\.drain/],
    [`runs/${work.asking}?tab=values`, /yard\.flush/],
    [`runs/${work.unconfirmed}?tab=versions`, /yard\.flush/],
    ["evidence", /Evidence/],
    ["missions", "Missions"],
    ["missions/start", "Start a mission"],
    [`missions/${mission}`, "Which tanks are nearly full?"],
    [`missions/${mission}?tab=tasks`, "Which tanks are nearly full?"],
    ["playbooks", "Run a playbook"],
    ["schedules", "Schedules"],
    ["schedules/enable", "Enable a schedule"],
    [`schedules/${HOURLY.schedule_id}`, HOURLY.title],
    [`schedules/${HOURLY.schedule_id}/report`, `Report: ${HOURLY.title}`],
    ["notifications", "Notifications"],
    ["playbooks/yard.flush", "Flush a tank"],
    ["catalogue/skill", "Skills"],
    ["catalogue/tool/yard.levels", /levels/],
    ["catalogue/skill/yard.levels?view=dependencies", /levels/i],
    ["packages", "Packages"],
    ["packages/register", "Register a package"],
    ["packages/tenant/yard", "yard"],
    ["routing?query=how%20full%20are%20our%20tanks", /Routing/],
    ["skills", "Agent skills"],
    ["lenses", "Lenses"],
    ["graph", /graph/i],
    ["memory", /Memor/],
    ["keys", "Keys"],
    ["health", "Health and quotas"],
  ];
}

test("no screen is wider than a telephone", async ({ page }) => {
  test.setTimeout(300_000);
  const order = { goal: "Which tanks are nearly full?", mission_type: TANKS, model: "offline" };
  const { mission_id: mission } = await work.api.post<{ mission_id: string }>("/v1/missions", order);
  for (const [path, heading] of screens(mission)) {
    await page.goto(`${work.url}/${path}`);
    await expect(page.getByRole("heading", { level: 1, name: heading }).first()).toBeVisible();
    await expect(page.getByLabel("Loading")).toHaveCount(0);
    expect(await wider(page), `/${path}`).toEqual([]);
  }
});

test("a telephone shows the overview, an approval, a run and a report", async ({ page }) => {
  for (const [path, name] of [
    ["", "phone-overview"],
    [`approvals/${work.approval}`, "phone-approval"],
    [`runs/${work.failed}`, "phone-run"],
    [`schedules/${HOURLY.schedule_id}/report`, "phone-report"],
  ]) {
    await page.goto(`${work.url}/${path}`);
    await expect(page.getByLabel("Loading")).toHaveCount(0);
    await looksRight(page, name ?? "phone");
  }
});

/** The elements that are wider than the page, where the page can be scrolled sideways. */
function wider(page: Page): Promise<string[]> {
  return page.evaluate(() => {
    const { scrollWidth, clientWidth } = document.documentElement;
    if (scrollWidth <= clientWidth) return [];
    const scrolls = (element: Element): boolean =>
      element.parentElement !== null &&
      (getComputedStyle(element.parentElement).overflowX !== "visible" || scrolls(element.parentElement));
    const out = [...document.querySelectorAll("#console *")].filter(
      (element) => element.getBoundingClientRect().right > clientWidth + 1 && !scrolls(element),
    );
    return [`${scrollWidth} px`, ...out.slice(0, 5).map((element) => `${element.tagName} ${element.className}`)];
  });
}
