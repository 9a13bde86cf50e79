/** Watching a run, going back in it, and ordering it about. */

import type { RunShown, RunSummary, StepShown } from "@charter/client";

import { type Api, apiOf, test } from "./estate";
import { expect, looksRight, type Page, stallsOf } from "./support";

test("a list without runs says how the first one starts", async ({ page, fresh: { url } }) => {
  await page.goto(`${url}/runs`);
  await expect(page.getByRole("heading", { name: "Nothing has run yet" })).toBeVisible();
  await looksRight(page, "runs-empty");
});

test("a run is given its values, confirmed, watched, scrubbed, ended and taken back", async ({ page, estate }) => {
  test.setTimeout(300_000);
  const { api, url } = estate;
  await page.goto(`${url}/runs`);
  await expect(page.getByRole("status").filter({ hasText: /^Live$/ })).toBeVisible();
  const { run_id: id } = await api.post<RunShown>("/v1/playbooks/security.remediate_public_exposure/runs", { parameters: {} });
  // No reload: the event of its start brought it.
  await page.getByRole("table", { name: "Runs" }).getByRole("row").filter({ hasText: id }).getByRole("link").click();
  await expect(page).toHaveURL(new RegExp(id));
  await expect(page.getByRole("heading", { name: "It needs values" })).toBeVisible();
  await looksRight(page, "run-parameters");
  await page.getByLabel("region").fill("us-east-1");
  if (await page.getByLabel("profile").isVisible()) await page.getByLabel("profile").fill('""');
  await page.getByRole("button", { name: "Give the values" }).click();
  await expect(page.getByRole("heading", { name: "Confirm the plan" })).toBeVisible();
  await looksRight(page, "run-confirm");
  await page.getByRole("button", { name: "Confirm and run" }).click();

  // From here on nobody reloads: the run's own stream brings each event.
  const graph = page.getByRole("region", { name: "Step graph" });
  await expect(graph.getByText("awaiting approval").first()).toBeVisible({ timeout: 60_000 });
  await expect(page.getByRole("heading", { name: "It waits for an approval" })).toBeVisible();
  await page.getByRole("button", { name: "Pause" }).click();
  await page.getByRole("button", { name: "Resume" }).click();
  await expect(page.getByRole("button", { name: "Pause" })).toBeVisible();
  await graph.getByLabel(/^step_1,/).focus();
  await page.keyboard.press("Enter");
  await expect(page.getByRole("heading", { name: "step_1" })).toBeVisible();
  await expect(page.getByLabel("Output")).toContainText("security_groups");
  await looksRight(page, "run-approval");

  await estate.approve(id);
  await expect(page.getByRole("banner").or(page.locator(".page-head")).getByText("completed")).toBeVisible({ timeout: 60_000 });
  await expect(graph.getByText("succeeded")).toHaveCount(13);

  // As of the event before the first step began nothing had a result.
  await page.getByRole("button", { name: "First event" }).click();
  await expect(page.getByText(/As of event 1 of/)).toBeVisible();
  await expect(graph.getByText("pending")).toHaveCount(3);
  await expect(page.getByLabel("Output")).toBeHidden();
  await page.getByRole("button", { name: "Event after" }).click();
  await expect(page).toHaveURL(/at=2/);
  await page.getByRole("tab", { name: "Values" }).click();
  await expect(page.getByText("No step has given anything yet.")).toBeVisible();
  await page.getByRole("slider", { name: "Event" }).focus();
  await page.keyboard.press("End");
  await expect(page.getByText(/As of event/)).toBeHidden();
  await expect(page.getByRole("table", { name: "Outputs" }).getByRole("row")).toHaveCount(14);
  await page.getByRole("tab", { name: "Journal" }).click();
  await page.getByRole("button", { name: "Show the run after event 5" }).click();
  await expect(page.getByText(/As of event 5 of/)).toBeVisible();
  await looksRight(page, "run-past");
  await page.getByRole("button", { name: "Back to now" }).click();
  await page.getByRole("tab", { name: "Versions" }).click();
  await page.getByRole("button", { name: "Check it" }).click();
  await expect(page.getByText(/^whole/)).toBeVisible();
  await looksRight(page, "run-versions");

  await page.getByRole("button", { name: "Roll back" }).click();
  await expect(page).not.toHaveURL(new RegExp(id));
  // What takes back is a write too.
  await expect(page.getByRole("heading", { name: "It waits for an approval" })).toBeVisible();
  await estate.approve(new URL(page.url()).pathname.split("/").at(-1) ?? "");
  await expect(page.locator(".page-head").getByText("completed")).toBeVisible({ timeout: 60_000 });
  await looksRight(page, "run-rollback");
});

test("a run that is aborted says by whom and why", async ({ page, estate }) => {
  test.setTimeout(120_000);
  const { run } = await estate.remediation();
  await page.goto(`${estate.url}/runs/${run}`);
  await page.getByRole("button", { name: "Abort" }).click();
  const dialog = page.getByRole("dialog", { name: "Abort the run" });
  await dialog.getByLabel("Reason").fill("Wrong account.");
  await looksRight(page, "run-abort");
  await dialog.getByLabel("Take back what it wrote").uncheck();
  await dialog.getByRole("button", { name: "Abort the run" }).click();
  await expect(page.locator(".page-head").getByText("aborted")).toBeVisible();
  await expect(page.getByText("by local: Wrong account.").first()).toBeVisible();
});

test("runs are found by when they started, and an empty list says how to look at more days", async ({ page, estate }) => {
  const { run: id } = await estate.remediation();
  await page.goto(`${estate.url}/runs`);
  const list = page.getByRole("table", { name: "Runs" });
  const mine = list.getByText(id);
  await expect(mine).toBeVisible();
  await page.getByLabel("Started from").fill("2020-01-01");
  await expect(page).toHaveURL(/from=2020-01-01/);
  await expect(mine).toBeVisible();
  await looksRight(page, "runs-days");
  await page.getByLabel("Started until").fill("2020-01-31");
  await expect(page.getByRole("heading", { name: "No run fits" })).toBeVisible();
  await expect(page.getByText("Only what was started from 1 Jan 2020 until 31 Jan 2020 was looked at.")).toBeVisible();
  await looksRight(page, "runs-days-none");

  // A link has both days, and a run of today is one until today.
  const today = new Intl.DateTimeFormat("sv-SE").format();
  await page.goto(`${estate.url}/runs?from=${today}&until=${today}`);
  await expect(page.getByLabel("Started until")).toHaveValue(today);
  await expect(mine).toBeVisible();
  await page.goto(`${estate.url}/runs?from=2020-01-02&until=2020-01-31`);
  await page.getByRole("button", { name: "Any earlier day too" }).click();
  await expect(page).not.toHaveURL(/from=/);
  await page.getByRole("button", { name: "Any later day too" }).click();
  await expect(mine).toBeVisible();
  await expect(page).not.toHaveURL(/until=/);
  await page.goto(`${estate.url}/runs?from=2020-01-31&until=2020-01-02`);
  await expect(page.getByRole("alert")).toContainText("the range ends");
  await page.getByRole("button", { name: "Clear" }).click();
  await expect(mine).toBeVisible();
});

test("what a run was is what the server says, the last event that was asked for counts, and a failure says so", async ({ page, estate }) => {
  test.setTimeout(180_000);
  const { api, url } = estate;
  const { run: id } = await estate.remediation();
  await page.goto(`${url}/runs/${id}`);
  const graph = page.getByRole("region", { name: "Step graph" });
  const drawn = () => graph.locator(".react-flow__node").evaluateAll((nodes) => nodes.map((node) => node.getAttribute("aria-label")));
  const { version } = await api.get<RunShown>(`/v1/runs/${id}`);
  for (let at = 1; at < version; at++) {
    await page.getByRole("button", { name: at === 1 ? "First event" : "Event after" }).click();
    await expect(page.getByText(`As of event ${at} of ${version}`)).toBeVisible();
    const { steps } = await api.get<{ steps: StepShown[] }>(`/v1/runs/${id}/at/${at}`);
    expect(await drawn(), `after event ${at}`).toEqual(
      steps.map(({ step, tool, state }) => `${step}, ${tool}, ${state.replaceAll("_", " ")}`),
    );
  }

  await page.goto(`${url}/runs/${id}?at=1`);
  await expect(page.getByText("As of event 1 of")).toBeVisible();
  let answer = () => {};
  const held = new Promise<void>((done) => (answer = done));
  await page.route("**/at/2", async (route) => {
    await held;
    await route.continue();
  });
  await page.getByRole("button", { name: "Event after" }).click();
  await expect(page.getByRole("status", { name: "Reading event 2" })).toBeVisible();
  await expect(page.getByText("As of event 1 of")).toBeVisible();
  await page.getByRole("button", { name: "Event after" }).click();
  await expect(page.getByText("As of event 3 of")).toBeVisible();
  answer();

  await page.route("**/at/4", (route) => route.fulfill({ status: 500, json: {} }));
  await page.getByRole("button", { name: "Event after" }).click();
  await expect(page.getByRole("alert").filter({ hasText: "Try again" })).toBeVisible();
  await expect(page.getByText("As of event 3 of")).toBeVisible();
  await looksRight(page, "run-past-failed");
  await page.unrouteAll();
  await page.getByRole("button", { name: "Try again" }).click();
  await expect(page.getByText("As of event 4 of")).toBeVisible();
  await expect(page.getByRole("button", { name: "Try again" })).toBeHidden();
});

/** How long the page may be busy at a stretch while somebody moves through a large run, in milliseconds. */
const LONGEST_STALL_MS = 400;

test("a run of a thousand steps stays smooth", { tag: "@measured" }, async ({ page, fresh: { url, server } }) => {
  test.setTimeout(300_000);
  const api = apiOf(server.url);
  const id = await large(api);
  const stalls = await stallsOf(page);
  const began = Date.now();
  await page.goto(`${url}/runs/${id}`);
  await expect(page.getByRole("region", { name: "Step graph" }).locator(".step-node").first()).toBeVisible();
  const opened = Date.now() - began;
  const drawn = await page.locator(".step-node").count();
  expect(await stepsInView(page), "steps fill the graph when it opens").toBeGreaterThan(0.8);
  expect(drawn, "only steps in view are drawn").toBeLessThan(400);
  await stalls.forget();
  await page.getByRole("slider", { name: "Event" }).focus();
  for (let press = 0; press < 40; press++) await page.keyboard.press("ArrowLeft");
  await expect(page.getByText(/As of event 1962 of/)).toBeVisible();
  const waits: number[] = [];
  for (let at = 1961; at > 1961 - PRESSES; at--) waits.push(await shownAfter(page, "ArrowLeft", at));
  waits.sort((one, other) => one - other);
  const wait = (share: number) => Math.round(waits[Math.floor(waits.length * share)] ?? 0);
  await page.keyboard.press("Home");
  await expect(page.getByText(/As of event 1 of/)).toBeVisible();
  const journal = page.getByRole("table", { name: "Journal" });
  await journal.evaluate((list) => list.scrollTo(0, list.scrollHeight / 2));
  // Each step began and succeeded: the thousandth event stands in the middle.
  await expect(journal.getByRole("button", { name: /^Show the run after event 100\d$/ }).first()).toBeVisible();
  const longest = await stalls.longest();
  console.log(
    `1,000 steps: opened in ${opened} ms, ${drawn} drawn, longest stall while scrubbing ${longest} ms; ` +
      `from a key to the state that it leads to ${wait(0.5)} ms (median), ${wait(0.95)} ms (95 %)`,
  );
  expect(longest).toBeLessThan(LONGEST_STALL_MS);
  expect(wait(0.5)).toBeLessThan(LONGEST_WAIT_MS);
  await looksRight(page, "run-large");
  await page.goto(`${url}/runs/${id}?step=step-777`);
  await expect(page.getByLabel(/^step-777,/)).toBeInViewport();
  await looksRight(page, "run-large-step");
});

/** How much of the graph's frame there is between its first and its last row of steps, as a share of its height. */
function stepsInView(page: Page): Promise<number> {
  return page.getByRole("region", { name: "Step graph" }).evaluate((frame) => {
    const { top, bottom, height } = frame.getBoundingClientRect();
    const steps = [...frame.querySelectorAll(".step-node")].map((step) => step.getBoundingClientRect());
    const first = Math.max(top, Math.min(...steps.map((step) => step.top)));
    const last = Math.min(bottom, Math.max(...steps.map((step) => step.bottom)));
    return (last - first) / height;
  });
}

/** How long it may take from a key to the state that it leads to, at the median, in milliseconds. The server is not optimised here. */
const LONGEST_WAIT_MS = 1_000;

/** How often a key is pressed to find how long it takes until the state that it leads to is shown. */
const PRESSES = 60;

/** Presses a key, and answers how long it took until the run was shown as of an event, in milliseconds. */
async function shownAfter(page: Page, key: string, at: number): Promise<number> {
  await page.evaluate((start) => {
    const pressed = new Promise<number>((done) => addEventListener("keydown", () => done(performance.now()), { once: true, capture: true }));
    const frame = () => new Promise((done) => requestAnimationFrame(done));
    const shown = async () => {
      const began = await pressed;
      while (!document.querySelector(".past")?.textContent?.startsWith(start)) await frame();
      return performance.now() - began;
    };
    Object.assign(window, { shown: shown() });
  }, `As of event ${at} of`);
  await page.keyboard.press(key);
  return page.evaluate(() => (window as unknown as { shown: Promise<number> }).shown);
}

/** A run of a thousand steps that call a built-in tool, in twenty lines of fifty. */
async function large(api: Api): Promise<string> {
  const name = (at: number) => `step-${String(at).padStart(3, "0")}`;
  const steps = Array.from({ length: 1_000 }, (_, at) => ({
    id: name(at),
    tool: "charter.visualise",
    parameters: { mark: "bar", data: [{ at }], encoding: { x: { field: "at", type: "quantitative" } } },
    ...(at < 20 ? {} : { dependencies: [name(at - 20)] }),
  }));
  const execution_plan = {
    id: "plan-01930000-0000-7000-8000-000000000001",
    request_id: "req-01930000-0000-7000-8000-000000000001",
    steps,
  };
  const { run_id } = await api.post<RunShown>("/v1/runs", { execution_plan });
  await expect
    .poll(async () => (await api.get<{ entries: RunSummary[] }>("/v1/runs?limit=1")).entries[0]?.status, { timeout: 200_000 })
    .toBe("completed");
  return run_id;
}
