/** Asking the reference library, and looking at one lens. */

import { expect, looksRight, test } from "./support";

test("a question is answered with passages that say where they stand", async ({ page, filled }) => {
  await page.goto(`${filled.url}/lenses`);
  await expect(page.getByRole("table", { name: "Lenses" })).toContainText("Public Exposure Baseline");
  await looksRight(page, "lenses");
  await page.getByLabel("Ask the reference library").fill("when may a bucket be public?");
  const first = page.getByRole("list", { name: "Passages, best first" }).getByRole("article").first();
  await expect(first).toContainText("Public Exposure Baseline");
  await expect(first).toContainText(/characters \d+ to \d+/);
  await looksRight(page, "passages");
  await first.getByRole("link").click();
  await expect(page.getByRole("region", { name: "Index" })).toContainText("Passages");
  await page.getByRole("button", { name: "Look at the source again" }).click();
  await expect(page.getByRole("region", { name: "Index" })).toContainText("Looked at");
  await page.getByLabel("Ask this lens").fill("security groups");
  await expect(page.getByRole("list", { name: "Passages, best first" })).toBeVisible();
  await looksRight(page, "lens");
});
