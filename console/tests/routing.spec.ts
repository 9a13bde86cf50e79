/** Where a question would go, why, and what other thresholds would change. */

import { expect, looksRight, test } from "./support";

const QUESTION = "Which of my security groups are open to the internet?";

test("a question shows its verdict, the reason and the parts of every score", async ({ page, filled }) => {
  await page.goto(`${filled.url}/routing`);
  await expect(page.getByRole("heading", { name: "Ask something" })).toBeVisible();
  await looksRight(page, "routing-empty");
  await page.getByLabel("A question or request").fill(QUESTION);
  const verdict = page.getByRole("region", { name: "Verdict" });
  await expect(verdict.getByRole("heading", { name: "narrow" })).toBeVisible();
  await expect(verdict).toContainText("security.detect_public_ingress");
  const best = page.getByRole("region", { name: "Candidates", exact: true }).getByRole("row").nth(1);
  await expect(best).toContainText("security.detect_public_ingress");
  await expect(best.getByRole("cell").nth(7)).toHaveText(/^0\.\d{3}$/);
  await looksRight(page, "routing");
});

test("thresholds as sliders say what the verdict would be, and change nothing", async ({ page, filled }) => {
  await page.goto(`${filled.url}/routing?q=${encodeURIComponent(QUESTION)}`);
  const verdict = page.getByRole("region", { name: "Verdict" });
  await expect(verdict.getByRole("heading", { name: "narrow" })).toBeVisible();
  await page.getByRole("slider", { name: "Margin" }).focus();
  await page.keyboard.press("End");
  await expect(verdict.getByRole("heading", { name: "broad" })).toBeVisible();
  await expect(verdict).toContainText("As it would be with the thresholds you chose.");
  await page.getByRole("slider", { name: "Floor" }).focus();
  await page.keyboard.press("End");
  // No score reaches it: what answers is a passage of the lens.
  await expect(verdict).toContainText("no skill answers it");
  await expect(page).toHaveURL(/floor=1/);
  await looksRight(page, "routing-other-thresholds");
  // Nobody else is routed by them.
  const inForce = await fetch(
    `${filled.server.url}/v1/route?query=${encodeURIComponent(QUESTION)}`,
  ).then((response) => response.json());
  expect(inForce.kind).toBe("narrow");
  await page.getByRole("button", { name: "Back to those in force" }).click();
  await expect(verdict.getByRole("heading", { name: "narrow" })).toBeVisible();
});
