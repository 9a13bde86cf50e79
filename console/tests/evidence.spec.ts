/** Finding evidence, and verifying it in the browser. */

import { execFileSync } from "node:child_process";
import { join } from "node:path";

import { PYTHON, test } from "./estate";
import { expect, looksRight, stallsOf } from "./support";

test("a browser without evidence says how the first record comes", async ({ page, fresh: { url } }) => {
  await page.goto(`${url}/evidence`);
  await expect(page.getByRole("heading", { name: "No evidence yet" })).toBeVisible();
  await looksRight(page, "evidence-empty");
});

test("what a run leaves is there without a reload", async ({ page, estate }) => {
  test.setTimeout(120_000);
  const { run } = await estate.remediation();
  await page.goto(`${estate.url}/evidence?of=${run}`);
  await expect(page.getByRole("heading", { name: "No record fits" })).toBeVisible();
  await expect(page.getByRole("status").filter({ hasText: /^Live$/ })).toBeVisible();
  await estate.api.post(`/v1/runs/${run}/abort`, { reason: "seen", roll_back: false });
  await expect(page.getByRole("table", { name: "Evidence" }).getByRole("link", { name: /^What the internet reaches/ })).toBeVisible();
});

test("a record is found by filters, verified in the page, and a changed one is not", async ({ page, estate }) => {
  test.setTimeout(180_000);
  await estate.server.charter("ask", "Which of my security groups are open to the internet?", "-p", "region=us-east-1");
  await page.goto(`${estate.url}/evidence`);
  const list = page.getByRole("table", { name: "Evidence" });
  await expect(list.getByRole("link").first()).toBeVisible();
  await looksRight(page, "evidence");
  await page.getByLabel("Type").selectOption("iam_policy");
  await expect(page.getByRole("heading", { name: "No record fits" })).toBeVisible();
  await page.getByLabel("Type").selectOption("config_snapshot");
  await page.getByLabel("Source").fill("aws.ec2");
  await expect(page).toHaveURL(/system=aws.ec2/);
  await page.getByLabel("Captured from").fill("2020-01-01");
  await expect(page).toHaveURL(/from=2020-01-01/);
  await expect(list.getByRole("link", { name: /Security groups/ }).first()).toBeVisible();
  await page.getByLabel("Captured until").fill("2020-01-02");
  await expect(page.getByRole("heading", { name: "No record fits" })).toBeVisible();
  await page.getByRole("button", { name: "Any later day too" }).click();
  await expect(list.getByRole("link", { name: /Security groups/ }).first()).toBeVisible();
  await page.getByRole("button", { name: "Clear" }).click();
  await expect(page).not.toHaveURL(/from=/);
  await list.getByRole("link", { name: /Security groups/ }).first().click();

  const verdict = page.getByRole("status", { name: "Verdict" });
  await expect(verdict).toContainText("This record is in the signed log");
  await expect(verdict.getByText("Not known")).toHaveCount(1);
  await expect(page.getByRole("link", { name: /View security groups in EC2/ })).toHaveAttribute("href", /console.aws/);
  const { key } = await estate.api.get<{ key: string }>("/v1/evidence/log/key");
  await page.getByLabel("Key that you trust").fill(key);
  await expect(verdict.getByText("Not known")).toHaveCount(0);
  await expect(verdict).toContainText("It is the key that you trust");
  await looksRight(page, "evidence-verified");

  // Somebody between server and browser changes what the record says.
  await page.route(/\/v1\/evidence\/ev_[^/]+$/, async (route) => {
    const response = await route.fetch();
    const record = await response.json();
    await route.fulfill({ response, json: { ...record, summary: "Nothing is open." } });
  });
  await page.reload();
  await expect(page.getByRole("heading", { name: "Nothing is open." })).toBeVisible();
  await expect(verdict).toContainText("Something does not fit");
  await expect(verdict).toContainText("It is not the record that was proved.");
  await looksRight(page, "evidence-changed");
  await page.evaluate(() => localStorage.removeItem("charter.evidence-key"));
});

test("evidence leads to the run that it is from, and back", async ({ page, estate }) => {
  const { entries } = await estate.api.get<{ entries: { id: string }[] }>("/v1/evidence?limit=1");
  const id = entries[0]?.id ?? "";
  const record = await estate.api.get<{ attached_to: { run_id?: string }[] }>(`/v1/evidence/${id}`);
  const run = record.attached_to.find(({ run_id }) => run_id)?.run_id ?? "";
  await page.goto(`${estate.url}/evidence/${id}`);
  await page.getByRole("link", { name: run }).click();
  await expect(page).toHaveURL(new RegExp(run));
  await page.getByRole("tab", { name: /Evidence/ }).click();
  await page.getByRole("tabpanel").getByRole("link").first().click();
  await expect(page.getByRole("heading", { name: "Verification" })).toBeVisible();
});

/** Records of the long list. */
const MANY = 100_000;

/** How long the page may be busy at a stretch while somebody scrolls, in milliseconds. */
const LONGEST_STALL_MS = 500;

test("a hundred thousand records are scrolled through to the last one", { tag: "@measured" }, async ({ page, fresh: { url, server } }) => {
  test.setTimeout(300_000);
  execFileSync(PYTHON, [join(import.meta.dirname, "fill-evidence.py"), join(server.data, "charter.db"), String(MANY)]);
  const stalls = await stallsOf(page);
  const began = Date.now();
  await page.goto(`${url}/evidence`);
  const list = page.getByRole("table", { name: "Evidence" });
  await expect(list.getByText("Record 0 of a long list.")).toBeVisible();
  const opened = Date.now() - began;
  await stalls.forget();
  const last = list.getByText(`Record ${MANY - 1} of a long list.`);
  while (!(await last.isVisible())) {
    await list.evaluate((frame) => {
      frame.scrollTo(0, frame.scrollHeight);
      return new Promise((drawn) => requestAnimationFrame(drawn));
    });
  }
  const read = Date.now() - began - opened;
  const longest = await stalls.longest();
  const drawn = await list.getByRole("row").count();
  console.log(`100,000 records: opened in ${opened} ms, all read in ${read} ms, ${drawn} rows drawn, longest stall ${longest} ms`);
  expect(drawn).toBeLessThan(100);
  expect(longest).toBeLessThan(LONGEST_STALL_MS);
  await looksRight(page, "evidence-many");
  await page.getByLabel("Captured from").fill("2026-03-01");
  await expect(list.getByText(/Record 849\d\d of|Record 85\d{3} of/).first()).toBeVisible();
});
