/** Deciding on what waits for a person. */

import { createServer, type Server as HttpServer } from "node:http";
import type { AddressInfo } from "node:net";

import type { RunShown } from "@charter/client";

import { apiOf, test } from "./estate";
import { consoleOver, expect, looksRight } from "./support";

test("an inbox without questions says who is asked, and when", async ({ page, fresh: { url } }) => {
  await page.goto(`${url}/approvals`);
  await expect(page.getByRole("heading", { name: "Nobody has been asked yet" })).toBeVisible();
  await looksRight(page, "approvals-empty");
});

test("a call that is rejected fails its step and is not made", async ({ page, estate }) => {
  test.setTimeout(120_000);
  const { run, approval } = await estate.remediation();
  await page.goto(`${estate.url}/approvals/${approval}`);
  await page.getByLabel("Reason").fill("Not today.");
  await page.getByRole("button", { name: "Reject" }).click();
  await expect(page.getByRole("heading", { name: "Rejected: the step failed, and nothing was called" })).toBeVisible();
  await estate.settled(run, "rejected");
  await expect(page.getByText("approval_rejected")).toBeVisible();
  await looksRight(page, "approval-rejected");
  await page.goto(`${estate.url}/approvals?state=rejected`);
  await expect(page.getByRole("link", { name: "aws.lock_security_group" }).first()).toBeVisible();
});

test("what lapsed cannot be decided any more, and who was late reads why", async ({ page, estate }) => {
  test.setTimeout(120_000);
  const { run, approval } = await estate.remediation();
  await page.goto(`${estate.url}/approvals/${approval}`);
  await expect(page.getByRole("button", { name: "Approve" })).toBeVisible();
  await estate.api.post(`/v1/runs/${run}/abort`, { reason: "nobody needs it any more", roll_back: false });
  await expect(page.getByRole("heading", { name: /^Lapsed/ })).toBeVisible();
  await expect(page.getByRole("button", { name: "Approve" })).toBeHidden();
});

test("a question arrives live, shows the exact call, and is approved", async ({ page, estate }) => {
  test.setTimeout(180_000);
  await page.goto(`${estate.url}/approvals`);
  await expect(page.getByRole("status").filter({ hasText: /^Live$/ })).toBeVisible();
  const { run, approval } = await estate.remediation({ group_ids: [] });
  // No reload: the event of the question brought it.
  await expect(page.getByText("1 waits for a decision")).toBeVisible();
  const first = page.getByRole("row").nth(1);
  await expect(first).toContainText("waits");
  const call = first.getByRole("link", { name: "aws.lock_security_group" });
  await looksRight(page, "approvals-inbox");
  await call.click();
  await expect(page).toHaveURL(new RegExp(approval));
  await expect(page.getByRole("heading", { name: "The exact call" })).toBeVisible();
  await expect(page.getByText("security.no_public_write_without_approval")).toBeVisible();
  const difference = page.getByLabel("Planned call and exact call");
  await expect(difference).toContainText('"rules": "${item.rules}"');
  await expect(difference).toContainText('"group_id": "sg-');
  await expect(page.getByText("aws.restore_security_group (rollback_2.1)")).toBeVisible();
  await looksRight(page, "approval-pending");
  await page.getByLabel("Reason").fill("The exposure is not wanted.");
  await page.getByRole("button", { name: "Approve" }).click();
  await expect(page.getByRole("heading", { name: /^Approved/ })).toBeVisible();
  await estate.settled(run, "completed");
  // What came of it comes by itself.
  await expect(page.getByRole("heading", { name: "Approved, and used for this one call" })).toBeVisible();
  await expect(page.getByText("The exposure is not wanted.")).toBeVisible();
  await expect(page.getByLabel("What it gave")).toContainText("revoked");
  await looksRight(page, "approval-used");
  // What was locked is opened again, for the stories after this one.
  const back = await estate.api.post<{ run_id: string }>(`/v1/runs/${run}/rollback`);
  await estate.approve(back.run_id);
  await estate.settled(back.run_id, "completed");
});

test("a call that was interrupted is asked about, and what happened is said", async ({ page }) => {
  test.setTimeout(120_000);
  const vault = await silent();
  const { port } = vault.http.address() as AddressInfo;
  const { url, server, stop } = await consoleOver({ config: `[tools]\negress = ["127.0.0.1:${port}"]\n` });
  const api = apiOf(server.url);
  try {
    await api.post("/v1/packages", { files: purging(port) });
    const { run_id: run, plan_digest: digest } = await api.post<RunShown>("/v1/playbooks/vaults.purge/runs", {
      parameters: { vault: "main" },
    });
    await api.post(`/v1/runs/${run}/confirm`, { digest });
    await page.goto(`${url}/approvals`);
    await page.getByRole("link", { name: "vault.purge" }).click();
    await page.getByRole("button", { name: "Approve" }).click();
    // It arrived, and nobody will hear the answer.
    await vault.called;
    await server.crash();
    await page.goto(`${url}/approvals?state=pending`);
    await expect(page.getByText("in doubt")).toBeVisible({ timeout: 30_000 });
    await page.getByRole("link", { name: "vault.purge" }).click();
    await expect(page.getByRole("heading", { name: "Did it happen?" })).toBeVisible();
    const output = page.getByLabel("What it gave, where you say that it happened");
    await output.fill("{purged");
    await expect(page.getByRole("button", { name: "It happened", exact: true })).toBeDisabled();
    await output.fill('{"purged": "many"}');
    await page.getByLabel("Reason").fill("The vault is empty.");
    await page.getByRole("button", { name: "It happened", exact: true }).click();
    await expect(page.getByRole("alert")).toContainText("invalid_document");
    await looksRight(page, "approval-in-doubt");
    await output.fill('{"purged": 3}');
    await page.getByRole("button", { name: "It happened", exact: true }).click();
    await expect(page.getByRole("heading", { name: "It happened, as was reported" })).toBeVisible();
    await expect(page.getByLabel("What it gave")).toContainText('"purged": 3');
    await looksRight(page, "approval-happened");
    expect(vault.calls()).toBe(1);
  } finally {
    vault.http.closeAllConnections();
    vault.http.close();
    await stop();
  }
});

/** A service that takes calls and never answers. */
async function silent(): Promise<{ http: HttpServer; called: Promise<void>; calls: () => number }> {
  let calls = 0;
  let heard: () => void = () => undefined;
  const called = new Promise<void>((done) => (heard = done));
  const http = createServer(() => {
    calls += 1;
    heard();
  });
  await new Promise<void>((done) => http.listen(0, "127.0.0.1", done));
  return { http, called, calls: () => calls };
}

/** A package with a supervised playbook whose one write calls a service. */
function purging(port: number): Record<string, string> {
  const tool = {
    tool_id: "vault.purge",
    name: "purge",
    provider: "aws",
    tool_class: "write",
    domain: "reliability",
    description: "Purges a vault.",
    language: "http",
    execution_target: "server",
    parameters: [{ name: "vault", type: "string", required: true, description: "The vault" }],
    output_schema: { type: "object", required: ["purged"], properties: { purged: { type: "integer" } } },
    implementation: { type: "http", method: "POST", url: `http://127.0.0.1:${port}/purge`, body: { vault: "${vault}" } },
    egress: [`127.0.0.1:${port}`],
  };
  const playbook = {
    playbook_id: "vaults.purge",
    name: "Purge a vault",
    domain: "reliability",
    trigger_conditions: ["purge the vault for good"],
    examples: ["purge the vault for good"],
    target_language: "python",
    mandatory_parameters: [{ name: "vault", type: "string", description: "The vault" }],
    steps: [
      {
        step_id: "s1",
        name: "Purge",
        type: "write",
        tool_id: "vault.purge",
        on_failure: "stop",
        parameters: { vault: "${user.vault}" },
      },
    ],
    safety: { safety_class: "supervised" },
  };
  const manifest = { name: "vaults", title: "Vaults", version: "0.1.0", scope: "tenant", description: "Purges vaults." };
  const files = { "package.yaml": manifest, "tools/purge.yaml": tool, "playbooks/purge.yaml": playbook };
  // JSON is YAML.
  return Object.fromEntries(Object.entries(files).map(([path, value]) => [path, JSON.stringify(value, null, 2)]));
}
