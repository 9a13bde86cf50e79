/** Where a question would go, why, and what other thresholds would change. */

import type { RoutedVerdict } from "@charter/client";

import { apiOf } from "./estate";
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

test("a query shows its intent, its corrections, the pieces set aside, and its clauses", async ({ page, filled }) => {
  await page.goto(`${filled.url}/routing`);
  const field = page.getByLabel("A question or request");
  const compared = page.getByRole("region", { name: "Query as compared" });
  const items = (list: string) => compared.getByRole("list", { name: list }).getByRole("listitem");
  await field.fill(QUESTION.replace("groups", "gruops"));
  await expect(items("Corrections")).toHaveText(["gruops is taken for groups"]);
  await field.fill(QUESTION);
  await expect(compared).toHaveCount(0);
  const api = apiOf(filled.server.url);
  const routed = await api.get<RoutedVerdict>(`/v1/route?query=${encodeURIComponent(QUESTION)}`);
  expect(routed.intent).toBe("read");
  await expect(page.getByRole("region", { name: "Verdict" })).toContainText(`read: ${routed.intent_reason}`);

  await page.getByLabel("What is looked among").selectOption("skills");
  const log = "2026-05-04T10:00:03Z ERROR relay timed out";
  await field.fill(`${log}\nfind bukcets with a public ACL and then find unattached EBS volumes`);
  await expect(items("Corrections")).toHaveText(["bukcets is taken for buckets"]);
  await expect(items("Set aside")).toHaveText([`counts little: ${log}`]);
  await expect(items("Clauses")).toHaveText([
    /^asks for: find buckets with a public ACL → security\.detect_public_storage_access [01]\.\d{3}/,
    /^asks for: find unattached EBS volumes → cost\.detect_idle_resources [01]\.\d{3}/,
  ]);
  await looksRight(page, "routing-as-compared");
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
