/** Finding a document, seeing which layer won, and what breaks if it changes. */

import { expect, looksRight, test } from "./support";

test("the overview counts what agents may do and leads there", async ({ page, filled }) => {
  await page.goto(`${filled.url}/`);
  const skills = page.getByRole("link", { name: /^\d+ Skills/ });
  await expect(skills).toContainText("15");
  await looksRight(page, "overview");
  await skills.click();
  await expect(page.getByRole("heading", { name: "Skills", exact: true })).toBeVisible();
});

test("documents are found by kind, words and domain, and the address says so", async ({ page, filled }) => {
  await page.goto(`${filled.url}/catalogue/skill`);
  const table = page.getByRole("table", { name: "Skills" });
  await expect(table.getByRole("row")).toHaveCount(16);
  await looksRight(page, "documents");
  await page.getByLabel("Find by id or title").fill("idle");
  await expect(page).toHaveURL(/q=idle/);
  await expect(table.getByRole("row")).toHaveCount(2);
  await expect(table.getByText("Find What Idles")).toBeVisible();
  await expect(table.getByText("tenant", { exact: true })).toBeVisible();
  // What is linked to is what was seen.
  await page.goto(`${filled.url}/catalogue/tool?domain=cost`);
  await expect(page.getByLabel("Domain")).toHaveValue("cost");
  await expect(page.getByRole("table", { name: "Tools" }).getByText("aws.list_volumes")).toBeVisible();
  await page.getByLabel("Find by id or title").fill("no such thing");
  await expect(page.getByRole("heading", { name: "No tools are like that" })).toBeVisible();
});

test("a document is shown as it was written, with what bears on it", async ({ page, filled }) => {
  await page.goto(`${filled.url}/catalogue/playbook/security.remediate_public_exposure`);
  await expect(page.getByLabel("playbooks/security.remediate_public_exposure.yaml")).toContainText("playbook_id:");
  await expect(page.getByRole("region", { name: "Guardrails that bear on it" })).toContainText(
    "security.no_public_write_without_approval",
  );
  await looksRight(page, "document");
  await page.goto(`${filled.url}/catalogue/tool/aws.lock_security_group`);
  await expect(page.getByRole("region", { name: "Policies that govern it" })).toContainText("security.group_changes");
});

test("a tenant's document says that it won over the global one, and in what they differ", async ({ page, filled }) => {
  await page.goto(`${filled.url}/catalogue/skill/cost.detect_idle_resources?view=layers`);
  await expect(page.getByText("Your tenant's own won")).toBeVisible();
  await expect(page.getByText("/display_name", { exact: true })).toBeVisible();
  const difference = page.getByLabel("The global document and the tenant's own");
  await expect(difference).toContainText('-   "display_name": "Detect Idle Resources"');
  await expect(difference).toContainText('+   "display_name": "Find What Idles"');
  await looksRight(page, "layers");
});

test("the dependency graph says what breaks if a tool changes", async ({ page, filled }) => {
  await page.goto(`${filled.url}/catalogue/tool/aws.describe_security_groups`);
  await page.getByRole("tab", { name: "Dependencies" }).click();
  const breaks = page.getByRole("region", { name: "Breaks if this changes" });
  await expect(breaks.getByRole("link", { name: "security.detect_public_ingress" })).toBeVisible();
  await expect(breaks).toContainText("security.account_brief");
  await expect(page.locator(".chart-node")).not.toHaveCount(0);
  await looksRight(page, "dependencies");
  await page.getByRole("region", { name: /^Dependencies;/ }).getByLabel("Skill security.detect_public_ingress", { exact: true }).focus();
  await page.keyboard.press("Enter");
  await expect(page.getByRole("heading", { level: 1, name: "Detect Public Network Exposure" })).toBeVisible();
  await expect(page.getByRole("region", { name: "Needs", exact: true })).toContainText("aws.describe_network_acls");
});

test("what is not there says so, with its code", async ({ page, filled }) => {
  await page.goto(`${filled.url}/catalogue/skill/no.such.skill`);
  await expect(page.getByRole("alert")).toContainText("not_found");
  await looksRight(page, "document-missing");
});
