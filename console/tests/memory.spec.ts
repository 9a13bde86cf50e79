/** What is remembered: found, followed through its versions, decided on, removed. */

import { expect, looksRight, test } from "./support";

test("what an agent proposes waits for a word, and is accepted or rejected after a look at the change", async ({
  page,
  fresh: { url, server },
}) => {
  await page.goto(`${url}/memory`);
  await expect(page.getByRole("heading", { name: "Nothing is remembered yet" })).toBeVisible();
  await looksRight(page, "memory-empty");
  const first = JSON.parse(
    await server.charter(
      ...["memory", "add", "--title", "Region", "--tag", "aws", "--importance", "7"],
      ...["We deploy to eu-west-1.", "--output", "json"],
    ),
  );
  const propose = (content: string) =>
    server.charter(
      ...["memory", "supersede", first.memory_id, "--expected", "1", "--title", "Region", "--tag", "aws"],
      ...["--agent", "release-bot", content],
    );
  await propose("We deploy to eu-north-1.");

  await page.goto(`${url}/memory`);
  const table = page.getByRole("table", { name: "Memories" });
  await expect(table).toContainText("version 2 waits");
  await looksRight(page, "memory");
  await page.getByLabel("Find a memory").fill("where do we deploy");
  await expect(page).toHaveURL(/q=where/);
  await table.getByRole("link", { name: "Region" }).click();
  const waiting = page.getByRole("region", { name: "Version 2 waits for a word" });
  await expect(waiting).toContainText("the agent release-bot");
  await expect(waiting.getByLabel("What the proposal changes")).toContainText("+ We deploy to eu-north-1.");
  await looksRight(page, "memory-proposal");
  await waiting.getByRole("button", { name: "Accept" }).click();
  await expect(waiting).toBeHidden();
  await expect(page.getByRole("region", { name: "What it says" })).toContainText("eu-north-1");
  await expect(page.getByRole("region", { name: "Versions" })).toContainText("superseded");
  await looksRight(page, "memory-history");

  await page.getByRole("button", { name: "Remove" }).click();
  await page.getByRole("button", { name: "Remove the content" }).click();
  await expect(page.getByText("Its content was removed. That it existed stays.")).toBeVisible();
});
