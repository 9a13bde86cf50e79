/** Whether the server is well, and what the tenant may ask of it. */

import { consoleOver, expect, looksRight, test } from "./support";

test("health says by what questions are compared, and quotas how much is left", async ({ page }) => {
  const config = "[quotas.each]\ncalls_per_minute = 6000\nburst = 500\nruns = 4\n";
  const { url, stop } = await consoleOver({ config });
  try {
    await page.goto(`${url}/health`);
    await expect(page.getByRole("region", { name: "Server" })).toContainText("ready");
    await expect(page.getByRole("region", { name: "Routing" })).toContainText("words only");
    const quotas = page.getByRole("region", { name: "Quotas" });
    await expect(quotas).toContainText("6000 a minute, at most 500 at once");
    await expect(quotas).toContainText("0 of 4 under way or waiting");
    await looksRight(page, "health");
  } finally {
    await stop();
  }
});
