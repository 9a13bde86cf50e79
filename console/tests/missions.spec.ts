/** Following a mission, reading what it came to, and deciding on what it proposes. */

import type { MissionShown } from "@charter/client";

import { test } from "./estate";
import { SECOND_LOOK, secondLook } from "./second-look";
import { expect, looksRight } from "./support";

test("a list without missions says how the first one starts", async ({ page, fresh: { url } }) => {
  await page.goto(`${url}/missions`);
  await expect(page.getByRole("heading", { name: "No missions yet" })).toBeVisible();
  await looksRight(page, "missions-empty");
});

test("a mission is followed live, read with its sources, and decided on", async ({ page, estate }) => {
  test.setTimeout(300_000);
  const { api, url } = estate;
  const { mission_id: id } = await api.post<MissionShown>("/v1/missions", {
    goal: "What does the internet reach in our account?",
    mission_type: "security.account_brief",
    model: "offline",
  });
  await page.goto(`${url}/missions`);
  await page.getByRole("table", { name: "Missions" }).getByRole("link").first().click();
  await expect(page.getByRole("heading", { name: "What does the internet reach in our account?" })).toBeVisible();
  // Nobody reloads: the mission's own stream brings each phase.
  const phases = page.getByRole("list", { name: "Phases" });
  await expect(phases.locator("[aria-current]")).toHaveText("awaiting approval", { timeout: 120_000 });
  await expect(page.getByRole("heading", { name: /^Claims \([1-9]/ })).toBeVisible();
  await expect(page.getByText("The sources do not disagree.")).toBeVisible();
  await looksRight(page, "mission-result");

  await page.getByRole("tab", { name: /^Tasks/ }).click();
  await expect(page.getByRole("region", { name: "Task graph" }).getByText("priorities")).toBeVisible();
  await expect(page.getByRole("table", { name: "Tasks" }).getByText("succeeded")).toHaveCount(8);
  await looksRight(page, "mission-tasks");

  await page.getByRole("tab", { name: /^Artifacts/ }).click();
  await page.getByLabel("Artifact on the left").selectOption("worker_result/wrk.network");
  await page.getByLabel("Artifact on the right").selectOption("worker_result/wrk.storage");
  await expect(page).toHaveURL(/left=.*wrk.network/);
  await expect(page.getByText(/8 findings on 8 buckets/).first()).toBeVisible();
  await looksRight(page, "mission-artifacts");
  await page.getByLabel("Only what differs").check();
  await expect(page.locator(".difference")).toContainText("wrk.storage");

  await page.getByRole("tab", { name: /^Proposals/ }).click();
  const [first, second] = [page.locator("section", { hasText: "wb.1:" }), page.locator("section", { hasText: "wb.2:" })];
  await second.getByRole("button", { name: "Decide" }).click();
  await second.getByLabel("Reason").fill("Not this quarter.");
  await looksRight(page, "mission-proposal");
  await second.getByRole("button", { name: "Reject" }).click();
  await expect(second.getByText("rejected", { exact: true }).first()).toBeVisible();
  await first.getByRole("link", { name: "See the exact call" }).click();
  await expect(page.getByText("A mission's write-back proposal needs an approval.")).toBeVisible();
  await looksRight(page, "mission-approval");
  await page.goBack();

  // Refusing the rest ends it; its evidence is written then, and claims lead there.
  const { proposals, run_id: run } = await api.get<MissionShown>(`/v1/missions/${id}`);
  for (const { approval_id: approval, state } of proposals) {
    if (state !== "proposed" || approval === undefined) continue;
    const { digest } = await api.get<{ digest: string }>(`/v1/approvals/${approval}`);
    await api.post(`/v1/approvals/${approval}/reject`, { digest, reason: "seen" });
  }
  await estate.settled(run, "completed");
  await expect(phases.locator("[aria-current]")).toHaveText("completed");
  await page.getByRole("tab", { name: "Result" }).click();
  const citation = page.getByRole("link", { name: /^evidence call\./ }).first();
  await expect(citation).toBeVisible({ timeout: 20_000 });
  await looksRight(page, "mission-completed");
  await citation.click();
  await expect(page.getByRole("status", { name: "Verdict" })).toContainText("This record is in the signed log");
});

test("a mission that is cancelled says why, and keeps what it produced", async ({ page, estate }) => {
  test.setTimeout(120_000);
  const { api, url } = estate;
  const { mission_id: id, run_id: run } = await api.post<MissionShown>("/v1/missions", {
    goal: "What is open?",
    mission_type: "security.account_brief",
    model: "offline",
  });
  await estate.settled(run, "awaiting_approval");
  await page.goto(`${url}/missions/${id}`);
  await page.getByRole("button", { name: "Cancel the mission" }).click();
  const dialog = page.getByRole("dialog", { name: "Cancel the mission" });
  await dialog.getByLabel("Reason").fill("The quarter is over.");
  await dialog.getByRole("button", { name: "Cancel it" }).click();
  await expect(page.locator(".page-head").getByText("cancelled")).toBeVisible();
  await expect(page.getByText(/stopped by local: The quarter is over/)).toBeVisible();
  await looksRight(page, "mission-cancelled");
});

test("where sources disagree each stands beside the other, and leads to its own evidence", async ({ page, estate }) => {
  test.setTimeout(120_000);
  const { api, url } = estate;
  await api.post("/v1/packages", { files: secondLook() });
  const goal = { goal: "What do the rules admit, and is it reached?", mission_type: SECOND_LOOK, model: "offline" };
  const { mission_id: id, run_id: run } = await api.post<MissionShown>("/v1/missions", goal);
  await estate.settled(run, "completed");
  await page.goto(`${url}/missions/${id}`);
  const contradictions = page.getByRole("region", { name: "Contradictions" });
  await expect(contradictions.getByRole("article").first()).toBeVisible();
  await expect(page.getByText("The sources do not disagree.")).toBeHidden();
  // Every group that is open and has nothing public behind it, by the account itself.
  const web = contradictions.getByRole("article", { name: /^demo-web \(sg-/ });
  await expect(web).toHaveAccessibleName(/: the reachable is false by security\.look_behind_rules, and true by security\.read_rules\.$/);
  const sources = [web.getByRole("group", { name: "What rules says" }), web.getByRole("group", { name: "What behind says" })] as const;
  await expect(sources[0]).toContainText("Its rules admit every address.");
  await expect(sources[1]).toContainText("No public address stands behind it.");
  const [left, right] = [await sources[0].boundingBox(), await sources[1].boundingBox()];
  expect(left?.y, "both begin at one height").toBe(right?.y);
  expect(left?.x ?? 0).toBeLessThan(right?.x ?? 0);
  await expect(page.getByRole("region", { name: "What the review found" })).toContainText("State where sources disagree.");
  await contradictions.evaluate((section) => section.scrollIntoView());
  await looksRight(page, "mission-contradictions");

  const shows = [/^Security groups of us-east-1 with all their rules/, /^What the internet reaches in account 123456789012/];
  for (const [at, source] of sources.entries()) {
    await source.getByRole("link", { name: /^evidence call\./ }).click();
    await expect(page.getByRole("heading", { level: 1, name: shows[at] })).toBeVisible();
    await expect(page.getByRole("status", { name: "Verdict" })).toContainText("This record is in the signed log");
    await page.goBack();
  }
});
