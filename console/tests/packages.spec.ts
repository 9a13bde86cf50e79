/** What happened to a package, and what a version changed. */

import { expect, looksRight, test } from "./support";

test("the history of a package leads to what a version changed", async ({ page, filled }) => {
  await page.goto(`${filled.url}/packages`);
  const table = page.getByRole("table", { name: "Packages in force" });
  await expect(table.getByRole("row")).toHaveCount(5);
  await looksRight(page, "packages");
  await table.getByRole("row").filter({ hasText: "tenant" }).getByRole("link").click();
  await expect(page.getByRole("region", { name: "What happened to it" }).getByRole("row")).toHaveCount(3);
  await expect(page.getByText(/^From \d+\.\d+\.\d+ to 99\.0\.0\. One document differs\.$/)).toBeVisible();
  await page.getByText("cost.detect_idle_resources").click();
  await expect(page.getByLabel("Changes of cost.detect_idle_resources")).toContainText("Find What Idles");
  await looksRight(page, "package");
  // What was opened can be linked to.
  await page.reload();
  await expect(page.getByLabel("Changes of cost.detect_idle_resources")).toBeVisible();
});
