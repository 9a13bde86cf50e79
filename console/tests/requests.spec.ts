/** Asking: a question back, sources of values, offers, and the result of a change. */

import type { RequestShown, ResponseMetadata, RunSummary } from "@charter/client";

import { type Api, apiOf } from "./estate";
import { expect, looksRight, type Page, test } from "./support";
import { MEANINGS, QUESTION, UNCLEAR, yard } from "./yard";

/** How long a tool's process may take, in milliseconds. */
const RUNS_MS = 60_000;

async function ask(page: Page, words: string): Promise<void> {
  await page.getByLabel("Question or request").fill(words);
  await page.keyboard.press("Enter");
  await expect(page.getByRole("heading", { level: 1, name: words, exact: true })).toBeVisible({ timeout: RUNS_MS });
  await expect(page).toHaveURL(/\/requests\/req-/);
}

/** The request that the page shows, as the server has it. */
function shown(page: Page, api: Api): Promise<RequestShown> {
  return api.get<RequestShown>(`/v1/requests/${new URL(page.url()).pathname.split("/").at(-1)}`);
}

test("words that mean several things are asked back, and an option is chosen by keyboard or pointer", async ({
  page,
  fresh: { url, server },
}) => {
  const api = apiOf(server.url);
  await api.post("/v1/packages", { files: yard() });
  await page.goto(`${url}/ask`);
  await expect(page.getByRole("heading", { level: 1, name: "Ask" })).toBeVisible();
  await looksRight(page, "ask");
  await ask(page, UNCLEAR);
  const [meters, costs] = MEANINGS;
  const question = page.getByRole("region", {
    name: "Several different questions match this request. Which one do you mean?",
  });
  const options = question.getByRole("list", { name: "Options" }).getByRole("button");
  await expect(options).toHaveCount(2);
  await looksRight(page, "request-clarification");
  const { session_id: session } = (await shown(page, api)).received.request;

  await options.filter({ hasText: meters }).focus();
  await page.keyboard.press("Enter");
  await expect(page.getByRole("heading", { level: 1, name: "yard.meters" })).toBeVisible({ timeout: RUNS_MS });
  await expect(page.getByRole("region", { name: "Answer" })).toContainText(`${meters}:`);
  expect((await shown(page, api)).received.request.session_id, "it is the session's next turn").toBe(session);

  // Another turn came since: the other option is asked by its name.
  await page.getByRole("link", { name: UNCLEAR }).click();
  await options.filter({ hasText: costs }).click();
  await expect(page.getByRole("region", { name: "Answer" })).toContainText(`${costs}:`, { timeout: RUNS_MS });
  await expect(page.getByRole("region", { name: "Next question" }).getByRole("listitem")).toHaveCount(3);
});

test("an offer opens nothing until it is chosen and its plan confirmed, and its request shows what it changed", async ({
  page,
  fresh: { url, server },
}) => {
  const api = apiOf(server.url);
  await api.post("/v1/packages", { files: yard() });
  const changes = async () => (await api.get<{ entries: RunSummary[] }>("/v1/runs?origin=playbook")).entries.map(({ status }) => status);
  await page.goto(`${url}/ask`);
  await ask(page, QUESTION);
  const values = page.getByRole("table", { name: "Values of the parameters" });
  await expect(values.getByRole("row").filter({ hasText: "site" })).toContainText(/"south".*the words “south”/);
  await expect(page.getByRole("region", { name: "Findings (1)" })).toContainText("yard.tank t-1");
  const offers = page.getByRole("region", { name: "Changes that fit" });
  await expect(offers).toContainText("For the findings of yard.levels. It needs permit");
  await expect(offers.getByLabel("permit")).toBeHidden();
  await looksRight(page, "request-answer");

  await offers.getByRole("button", { name: "Choose Drain a full tank" }).press("Enter");
  await offers.getByLabel("permit").fill("P-7");
  await looksRight(page, "request-offer");
  expect(await changes(), "nothing was opened").toEqual([]);
  await offers.getByRole("button", { name: "Show its plan" }).click();
  await expect(page.getByRole("heading", { name: "Confirm the plan" })).toBeVisible({ timeout: RUNS_MS });
  const planned = page.getByRole("table", { name: "With these values" });
  await expect(planned.getByRole("row").filter({ hasText: "tank" })).toContainText('"t-1"');
  await expect(planned.getByRole("row").filter({ hasText: "permit" })).toContainText(/"P-7".*given by the caller/);
  await looksRight(page, "request-plan");
  expect(await changes(), "it waits for a person").toEqual(["awaiting_confirmation"]);

  await page.getByRole("button", { name: "Confirm and run" }).click();
  // No reload: the event of the result brought it. The first answer stays.
  const result = page.getByRole("region", { name: "Result of the change" });
  await expect(result).toContainText("completed", { timeout: RUNS_MS });
  await expect(page.getByRole("region", { name: "Answer" })).toContainText("awaiting confirmation");
  const difference = result.getByLabel("Before and after step_1");
  await expect(difference.locator('[data-sign="-"]').filter({ hasText: '"t-1": 97' })).toBeVisible();
  await expect(difference.locator('[data-sign="+"]').filter({ hasText: '"t-1": 0' })).toBeVisible();
  await expect(result).toContainText("Nothing was left undone.");
  await looksRight(page, "request-result");
  await result.getByRole("link", { name: /^evidence ev_/ }).first().click();
  await expect(page.getByRole("status", { name: "Verdict" })).toContainText("This record is in the signed log");
});

test("sentences of an analysis lead to the findings, evidence and passages that they cite, as plain text", async ({
  page,
  fresh: { url, server },
}) => {
  await apiOf(server.url).post("/v1/packages", { files: yard() });
  // Sentences that a model would have written; the rest of the answer is the server's.
  await page.route(/\/v1\/requests\/req-/, async (route) => {
    const response = await route.fetch();
    const request = (await response.json()) as RequestShown;
    if (request.answer !== null && "content" in request.answer) {
      const metadata: ResponseMetadata = request.answer.metadata ?? {};
      const finding_ids = (metadata.findings ?? []).map(({ finding_id }) => finding_id);
      const { evidence_ids = [] } = metadata;
      const passages = ["Rules of the yard (yard.rules, passage 3)"];
      request.answer.metadata = metadata;
      metadata.sentences = [{ text: "<b>Tank t-1</b> is nearly full.", finding_ids, evidence_ids, passages }];
    }
    await route.fulfill({ response, json: request });
  });
  await page.goto(`${url}/ask`);
  await ask(page, QUESTION);
  const sentence = page.getByRole("list", { name: "Sentences of the analysis" }).getByRole("listitem");
  await expect(sentence).toContainText("<b>Tank t-1</b> is nearly full.");
  await looksRight(page, "request-sentences");
  await expect(sentence.getByRole("link", { name: /passage 3/ })).toHaveAttribute("href", /\/lenses\/yard\.rules$/);
  await sentence.getByRole("link", { name: "finding yard.tank t-1" }).click();
  await expect(page).toHaveURL(/#/);
  await expect(page.getByRole("region", { name: "Findings (1)" }).getByRole("listitem")).toBeInViewport();
  await sentence.getByRole("link", { name: /^evidence ev_/ }).click();
  await expect(page.getByRole("status", { name: "Verdict" })).toContainText("This record is in the signed log");
});

test("a request that nothing fits shows its failure on its own screen, and the next one follows there", async ({
  page,
  fresh: { url, server },
}) => {
  await apiOf(server.url).post("/v1/packages", { files: yard() });
  await page.goto(`${url}/ask`);
  await ask(page, "which invoices of the harbour are overdue?");
  await expect(page.getByRole("alert")).toContainText("no_match");
  await looksRight(page, "request-failed");
  await ask(page, QUESTION);
  await expect(page.getByRole("region", { name: "Answer" })).toContainText("yard.tank t-1");
});
