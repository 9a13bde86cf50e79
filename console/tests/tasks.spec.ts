/** Tasks of an operator, each from the overview, with at most three clicks. */

import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";

import type { RunShown } from "@charter/client";
import type { Locator } from "@playwright/test";

import { type AtWork, atWork, files, until } from "./at-work";
import { expect, looksRight, type Page, test } from "./support";
import { QUESTION } from "./yard";

test.describe.configure({ mode: "serial" });

/** How many clicks a task may take. */
const MOST_CLICKS = 3;

/** How long a tool's process may take, in milliseconds. */
const RUNS_MS = 60_000;

let work: AtWork & { stop: () => Promise<void> };

test.beforeAll(async () => {
  test.setTimeout(240_000);
  work = await atWork();
});

test.afterAll(async () => {
  await work?.stop();
});

/** An operator before the overview, whose clicks are counted. */
class Operator {
  #clicks = 0;

  private constructor(readonly page: Page) {}

  static async at(page: Page): Promise<Operator> {
    await page.goto(`${work.url}/`);
    await expect(page.getByRole("heading", { name: "Waiting for a decision" })).toBeVisible();
    return new Operator(page);
  }

  async click(target: Locator): Promise<void> {
    this.#clicks += 1;
    expect(this.#clicks, "clicks").toBeLessThanOrEqual(MOST_CLICKS);
    await target.click();
  }
}

test("the overview shows what waits, what went wrong and what was found", async ({ page }) => {
  await Operator.at(page);
  const decisions = page.getByRole("list", { name: "Decisions" }).getByRole("listitem");
  await expect(decisions).toHaveCount(2);
  await expect(decisions.first()).toContainText("yard.drain");
  await expect(decisions.first()).toContainText(/Requested by local .*; expires/);
  await expect(decisions.nth(1)).toContainText("awaiting confirmation");
  // Plans to confirm are in the queue of approvals.
  await expect(page.getByRole("link", { name: /^Approvals\s*2 waiting$/ })).toBeVisible();
  await expect(page.getByRole("link", { name: /^Runs\s*\d/ })).toBeHidden();
  await expect(page.getByRole("list", { name: "Runs that went wrong" }).getByRole("listitem")).toHaveCount(1);
  await expect(page.getByRole("list", { name: "New findings" })).toContainText("1 high");
  await expect(page.getByRole("table", { name: "Runs" })).toContainText("4");
  await looksRight(page, "overview-work");
});

test("1: the cause of a failed run", async ({ page }) => {
  const operator = await Operator.at(page);
  await operator.click(page.getByRole("list", { name: "Runs that went wrong" }).getByRole("link").first());
  await expect(page.locator(".cause")).toContainText("the valve is stuck");
  await expect(page.locator(".cause").getByRole("link", { name: "step_1" })).toBeVisible();
  await page.getByRole("tab", { name: "Timeline" }).click();
  await expect(page.getByRole("list", { name: "Timeline" })).toContainText("step_1");
  await looksRight(page, "run-cause");
});

test("2: new findings, with the question and who asked", async ({ page }) => {
  const operator = await Operator.at(page);
  await operator.click(page.getByRole("list", { name: "New findings" }).getByRole("link", { name: QUESTION }));
  await expect(page.getByRole("region", { name: "Findings (1)" })).toContainText("yard.tank t-1");
});

test("3: an answer to a question", async ({ page }) => {
  const operator = await Operator.at(page);
  await operator.click(page.locator(".page-head").getByRole("link", { name: "Ask", exact: true }));
  await page.getByLabel("Question or request").fill(QUESTION);
  await operator.click(page.getByRole("button", { name: "Ask", exact: true }));
  await expect(page.getByRole("region", { name: "Answer" })).toContainText("yard.tank t-1", { timeout: RUNS_MS });
});

test("4: what others asked, and what came of it", async ({ page }) => {
  const operator = await Operator.at(page);
  await operator.click(page.getByRole("link", { name: "Requests", exact: true }));
  const list = page.getByRole("table", { name: "Requests" });
  await expect(list.getByRole("row").last()).toContainText("local");
  await looksRight(page, "requests");
  await operator.click(list.getByRole("link", { name: QUESTION }).last());
  await expect(page.getByRole("region", { name: "Answer" })).toBeVisible();
  // Its run leads back to the question.
  await page.getByRole("link", { name: /^run-/ }).first().click();
  await expect(page.getByRole("region", { name: QUESTION })).toContainText("local asked");
  await looksRight(page, "run-question");
});

test("5: a run is found by a word", async ({ page }) => {
  const operator = await Operator.at(page);
  await operator.click(page.getByRole("link", { name: "Search everywhere" }));
  await expect(page.getByRole("searchbox", { name: "Search everywhere" })).toBeFocused();
  await page.keyboard.type("yard.flush");
  await expect(page.getByRole("status").filter({ hasText: /^\d+ found$/ })).toBeVisible({ timeout: RUNS_MS });
  await expect(page.getByRole("list", { name: "Documents" })).toContainText("Flush a tank");
  await expect(page.getByRole("region", { name: "Searched", exact: true })).toContainText("all runs, by title");
  await looksRight(page, "search");
  await operator.click(page.getByRole("list", { name: "Runs" }).getByRole("link").first());
  await expect(page).toHaveURL(/\/runs\/run-/);
});

test("6: a call is approved, with its preview in view", async ({ page }) => {
  const operator = await Operator.at(page);
  await operator.click(page.getByRole("list", { name: "Decisions" }).getByRole("link", { name: "yard.drain" }));
  const [call, buttons] = [page.getByRole("heading", { name: "The exact call" }), page.getByRole("button", { name: "Approve" })];
  const [above, below] = [await call.boundingBox(), await buttons.boundingBox()];
  expect(above?.y ?? Number.NaN, "the call is above the buttons").toBeLessThan(below?.y ?? Number.NaN);
  await operator.click(page.getByRole("button", { name: "Preview" }));
  const effect = page.getByLabel("Present and later state");
  await expect(effect).toContainText('-   "t-1": 97', { timeout: RUNS_MS });
  await expect(effect).toContainText('+   "t-1": 0');
  await looksRight(page, "approval-preview");
  await operator.click(buttons);
  await expect(page.getByRole("heading", { name: /^Approved/ })).toBeVisible();
  await until(work.api, work.asking, "completed");
  await expect(page.getByRole("link", { name: /^Approvals\s*1 waiting$/ })).toBeVisible();
});

test("7: a plan is read and confirmed, and an empty list in it is explained", async ({ page }) => {
  const operator = await Operator.at(page);
  await operator.click(page.getByRole("list", { name: "Decisions" }).getByRole("link").last());
  await expect(page).toHaveURL(new RegExp(work.unconfirmed));
  await expect(page.getByRole("note")).toContainText("only has no entry. The playbook describes it so: “Only these valves; empty means every valve”.");
  await looksRight(page, "run-confirm-empty");
  await operator.click(page.getByRole("button", { name: "Confirm and run" }));
  await expect(page.getByRole("heading", { name: "Confirm the plan" })).toBeHidden();
});

test("8: a playbook is run with values", async ({ page }) => {
  const operator = await Operator.at(page);
  await operator.click(page.getByRole("link", { name: "Run a playbook" }));
  await looksRight(page, "playbooks");
  await operator.click(page.getByRole("link", { name: "Flush a tank" }));
  await page.getByLabel("tank").fill("t-3");
  await page.getByLabel("permit").fill("P-8");
  await looksRight(page, "playbook");
  await operator.click(page.getByRole("button", { name: "Show its plan" }));
  await expect(page.getByRole("heading", { name: "It waits for an approval" })).toBeVisible();
});

test("9: a mission is started", async ({ page }) => {
  const operator = await Operator.at(page);
  await operator.click(page.getByRole("link", { name: "Start a mission" }));
  await page.getByLabel("Goal").fill("Which tanks are nearly full?");
  await looksRight(page, "mission-start");
  await operator.click(page.getByRole("button", { name: "Start the mission" }));
  await expect(page.getByRole("heading", { level: 1, name: "Which tanks are nearly full?" })).toBeVisible();
  await expect(page.getByRole("list", { name: "Phases" })).toBeVisible();
});

test("an earlier version of a package is compared and put in force again", async ({ page }) => {
  const operator = await Operator.at(page);
  await operator.click(page.getByRole("link", { name: "yard", exact: true }));
  const history = page.getByRole("region", { name: "What happened to it" });
  await page.getByRole("button", { name: "Compare 0.1.0 with the version in force" }).press("Enter");
  await expect(page.getByText(/^From 0\.1\.0 to 0\.2\.0\./)).toBeVisible();
  await operator.click(page.getByRole("button", { name: "Roll back to 0.1.0" }));
  await operator.click(page.getByRole("dialog").getByRole("button", { name: "Put 0.1.0 in force" }));
  await expect(history).toContainText("rolled back");
  await expect(page.getByRole("button", { name: "Roll back to 0.2.0" })).toBeVisible();
});

test("a directory is checked, compared and registered", async ({ page }) => {
  const folder = await mkdtemp(join(tmpdir(), "charter-yard-"));
  const write = async (all: Record<string, string>) => {
    for (const [path, text] of Object.entries(all)) {
      await mkdir(dirname(join(folder, path)), { recursive: true });
      await writeFile(join(folder, path), text);
    }
  };
  try {
    await page.goto(`${work.url}/packages`);
    await page.getByRole("link", { name: "Register a package" }).click();
    const chosen = page.locator('input[type="file"]');
    await write({ ...files("0.3.0"), "tools/levels.yaml": "tool_id: yard.levels\n" });
    await chosen.setInputFiles(folder);
    await expect(page.getByRole("list", { name: "Problems" })).toContainText("tools/levels.yaml:");
    await expect(page.getByRole("button", { name: "Register it" })).toBeHidden();
    await looksRight(page, "package-problems");
    await write(files("0.3.0"));
    await chosen.setInputFiles(folder);
    await expect(page.getByRole("button", { name: "Register it" })).toBeVisible();
    await looksRight(page, "package-register");
    await page.getByRole("button", { name: "Register it" }).click();
    await expect(page.getByRole("heading", { level: 1, name: "yard" })).toBeVisible();
    await expect(page.getByRole("region", { name: "What happened to it" })).toContainText("0.3.0");
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
});

test("10: the calls of a list are approved without an excluded one", async ({ page }) => {
  await work.api.post("/v1/packages", { files: { ...files("0.4.0"), "playbooks/sweep.yaml": JSON.stringify(sweep()) } });
  const { run_id: run, status, plan_digest: digest } = await work.api.post<RunShown>("/v1/playbooks/yard.sweep/runs", {
    parameters: { tanks: ["t-4", "t-5", "t-6"] },
  });
  if (status === "awaiting_confirmation") await work.api.post(`/v1/runs/${run}/confirm`, { digest });
  await until(work.api, run, "awaiting_approval");
  const operator = await Operator.at(page);
  await operator.click(page.getByRole("list", { name: "Decisions" }).getByRole("link", { name: "yard.drain (3 calls)" }));
  await operator.click(page.getByRole("checkbox", { name: "step_1.2", exact: true }));
  await looksRight(page, "approval-excluded");
  await operator.click(page.getByRole("button", { name: "Approve 2 of 3 calls" }));
  await expect(page.getByRole("heading", { name: /^Approved/ })).toBeVisible();
  await until(work.api, run, "completed");
  const steps = page.getByRole("list", { name: "Steps" });
  await expect(steps.getByText("succeeded", { exact: true })).toHaveCount(2);
  await expect(steps.getByRole("listitem").filter({ hasText: "skipped" })).toContainText("step_1.2");
});

/** A playbook that drains each tank of a list. */
function sweep(): object {
  const drain = JSON.parse(files("0.4.0")["playbooks/drain.yaml"] ?? "") as Record<string, unknown>;
  return {
    ...drain,
    playbook_id: "yard.sweep",
    name: "Sweep tanks",
    trigger_conditions: ["sweep_is_wanted"],
    examples: ["sweep the tanks of the yard"],
    mandatory_parameters: [{ name: "tanks", type: "array", description: "The tanks", example: ["t-1"] }],
    parameters_from_findings: undefined,
    steps: [
      {
        step_id: "step_1",
        name: "Drain",
        type: "write",
        tool_id: "yard.drain",
        for_each: { items: "${user.tanks}" },
        parameters: { tank: "${item}" },
      },
    ],
    safety: { safety_class: "supervised" },
  };
}
