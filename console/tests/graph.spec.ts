/** Walking the expert graph, and asking it about coverage. */

import { expect, looksRight, test } from "./support";

test("a control leads to what it requires and to where its evidence is collected", async ({ page, filled }) => {
  await page.goto(`${filled.url}/graph`);
  await page.getByRole("combobox", { name: "Node" }).fill("soc2.cc6.6");
  await expect(page.getByRole("region", { name: "Near it", exact: true })).toContainText("restricted_ingress");
  await expect(page.locator(".chart-node")).toHaveCount(3);
  await page.keyboard.press("Escape");
  await looksRight(page, "graph");
  await page.getByRole("tab", { name: "Paths to evidence" }).click();
  await expect(page.getByText("filtered_web_traffic")).toBeVisible();
  await expect(page.getByText("aws.elasticloadbalancing.loadbalancer")).toBeVisible();
  await looksRight(page, "graph-paths");
});

test("a framework shows which controls are looked after, and by what", async ({ page, filled }) => {
  await page.goto(`${filled.url}/graph?view=coverage`);
  await page.getByRole("textbox", { name: "Framework" }).fill("SOC2");
  await page.keyboard.press("Enter");
  const row = page.getByRole("row").filter({ hasText: "soc2.cc6.6" });
  await expect(row).toContainText("covered");
  await expect(row).toContainText("security.detect_public_ingress");
  await looksRight(page, "graph-coverage");
  await page.getByRole("tab", { name: "Risks without a remedy" }).click();
  await expect(page.getByRole("tabpanel").getByRole("heading")).toBeVisible();
  await looksRight(page, "graph-risks");
});
