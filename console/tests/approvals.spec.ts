/** Decisions on approvals: of one call, of a list, and of an interrupted call. */

import { createServer, type Server as HttpServer } from "node:http";
import type { AddressInfo } from "node:net";

import type { Approval, RunShown } from "@charter/client";

import { files, until } from "./at-work";
import { apiOf, test } from "./estate";
import { consoleOver, expect, looksRight } from "./support";

test("an empty inbox explains which calls need an approval", async ({ page, fresh: { url } }) => {
  await page.goto(`${url}/approvals`);
  await expect(page.getByRole("heading", { name: "No approval yet" })).toBeVisible();
  await looksRight(page, "approvals-empty");
});

test("a rejected list fails its run, and no call is made", async ({ page, estate }) => {
  test.setTimeout(120_000);
  const { run, approval } = await estate.remediation();
  await page.goto(`${estate.url}/approvals/${approval}`);
  await page.getByLabel("Reason").fill("Not today.");
  await page.getByRole("button", { name: "Reject" }).click();
  await expect(page.getByRole("heading", { name: "Rejected: no call was made" })).toBeVisible();
  await estate.settled(run, "rejected");
  await expect(page.getByText("approval_rejected").first()).toBeVisible();
  await looksRight(page, "approval-rejected");
  await page.goto(`${estate.url}/approvals?state=rejected`);
  await expect(page.getByRole("link", { name: "aws.lock_security_group" }).first()).toBeVisible();
});

test("an approval that lapsed cannot be decided, and the page has the reason", async ({ page, estate }) => {
  test.setTimeout(120_000);
  const { run, approval } = await estate.remediation();
  await page.goto(`${estate.url}/approvals/${approval}`);
  await expect(page.getByRole("button", { name: "Approve" })).toBeVisible();
  await estate.api.post(`/v1/runs/${run}/abort`, { reason: "nobody needs it any more", roll_back: false });
  await expect(page.getByRole("heading", { name: /^Lapsed/ })).toBeVisible();
  await expect(page.getByRole("button", { name: "Approve" })).toBeHidden();
});

test("a list arrives live, shows every call, and is approved without an excluded call", async ({ page, estate }) => {
  test.setTimeout(180_000);
  await page.goto(`${estate.url}/approvals`);
  await expect(page.getByRole("status").filter({ hasText: /^Live$/ })).toBeVisible();
  const { run, approval } = await estate.remediation({ group_ids: [] });
  // The event of the request updates the page without a reload.
  await expect(page.getByText("1 waits for a decision")).toBeVisible();
  const first = page.getByRole("row").nth(1);
  await expect(first).toContainText("pending");
  const call = first.getByRole("link", { name: "aws.lock_security_group" });
  await looksRight(page, "approvals-inbox");
  await call.click();
  await expect(page).toHaveURL(new RegExp(approval));
  const { list = [] } = await estate.api.get<Approval>(`/v1/approvals/${approval}`);
  const count = list.length;
  await expect(page.getByRole("heading", { name: `The ${count} exact calls` })).toBeVisible();
  await expect(page.getByText("security.no_public_write_without_approval")).toBeVisible();
  await expect(page.getByRole("list", { name: "Calls of aws.lock_security_group" }).getByRole("checkbox")).toHaveCount(count);
  await expect(page.getByLabel("Arguments of step_2.1", { exact: true })).toContainText('"group_id": "sg-');
  await expect(page.getByLabel(`aws.lock_security_group in the plan (${count} calls)`)).toContainText('"rules": "${item.rules}"');
  await expect(page.getByRole("list", { name: "Reversals" })).toContainText("aws.restore_security_group (rollback_2.1)");
  await page.getByRole("button", { name: "Preview" }).click();
  const effects = page.getByRole("list", { name: "Effects of the calls" });
  for (const step of ["step_2.1", `step_2.${count}`]) {
    const effect = effects.getByLabel(`Present and later state of ${step}`, { exact: true });
    await expect(effect).toBeVisible({ timeout: 60_000 });
  }
  await page.getByRole("checkbox", { name: "step_2.2", exact: true }).uncheck();
  await expect(page.getByText(`${count - 1} of ${count} calls are included.`)).toBeVisible();
  await looksRight(page, "approval-pending");
  await page.getByLabel("Reason").fill("The exposure is not wanted.");
  await page.getByRole("button", { name: `Approve ${count - 1} of ${count} calls` }).click();
  await expect(page.getByRole("heading", { name: /^Approved/ })).toBeVisible();
  await estate.settled(run, "completed");
  // The result updates the page without a reload.
  await expect(page.getByRole("heading", { name: "Approved and used" })).toBeVisible();
  await expect(page.getByText("The exposure is not wanted.")).toBeVisible();
  const steps = page.getByRole("list", { name: "Steps" });
  await expect(steps.getByText("succeeded", { exact: true })).toHaveCount(count - 1);
  await expect(steps.getByRole("listitem").filter({ hasText: "skipped" })).toContainText("step_2.2");
  await looksRight(page, "approval-used");
  // The groups are opened again for later stories.
  const back = await estate.api.post<{ run_id: string }>(`/v1/runs/${run}/rollback`);
  await estate.approve(back.run_id);
  await estate.settled(back.run_id, "completed");
});

test("a destructive list is approved by another person, who types the number of its calls", async ({ page }) => {
  test.setTimeout(120_000);
  const keys = { ann: "", bob: "" };
  const { url, server, stop } = await consoleOver({}, async (charter) => {
    for (const user of ["ann", "bob"] as const) {
      const words = ["key", "--tenant", "acme", "create", user, "--role", "admin", "--user", user, "--output", "json"];
      keys[user] = (JSON.parse(await charter(...words)) as { secret: string }).secret;
    }
  });
  const api = apiOf(server.url, keys.ann);
  try {
    await api.post("/v1/packages", { files: razing() });
    const { run_id: run, plan_digest: digest } = await api.post<RunShown>("/v1/playbooks/yard.raze/runs", {
      parameters: { yard: "south", tanks: ["t-1", "t-2", "t-3"] },
    });
    await api.post(`/v1/runs/${run}/confirm`, { digest, typed: "south" });
    await until(api, run, "awaiting_approval");
    const { approvals } = await api.get<RunShown>(`/v1/runs/${run}`);
    const approval = approvals[0]?.approval_id ?? "";
    await page.goto(`${url}/approvals/${approval}`);
    await page.getByLabel("API key").fill(keys.bob);
    await page.keyboard.press("Enter");
    await expect(page.getByRole("heading", { name: "The 3 exact calls" })).toBeVisible();
    await expect(page.locator(".page-head").getByText("destructive")).toBeVisible();
    const approve = page.getByRole("button", { name: /^Approve/ });
    await expect(approve).toBeDisabled();
    await page.getByRole("button", { name: "Preview" }).click();
    const effects = page.getByRole("list", { name: "Effects of the calls" }).getByRole("listitem");
    await expect(effects).toHaveCount(3, { timeout: 60_000 });
    await expect(page.getByLabel("Present and later state of step_1.2")).toContainText('+   "t-2": 0');
    await page.getByRole("checkbox", { name: "step_1.2", exact: true }).uncheck();
    const count = page.getByLabel("Number of calls that you approve");
    await count.fill("3");
    await expect(approve).toBeDisabled();
    await count.fill("2");
    await expect(approve).toBeEnabled();
    await looksRight(page, "approval-destructive");
    // Another choice needs another number.
    await page.getByRole("button", { name: "Include all" }).click();
    await expect(approve).toBeDisabled();
    await page.getByRole("checkbox", { name: "step_1.2", exact: true }).uncheck();
    await approve.click();
    await expect(page.getByRole("heading", { name: /^Approved/ })).toBeVisible();
    await until(api, run, "completed");
    const steps = page.getByRole("list", { name: "Steps" });
    await expect(steps.getByText("succeeded", { exact: true })).toHaveCount(2);
    await expect(steps.getByRole("listitem").filter({ hasText: "skipped" })).toContainText("step_1.2");
  } finally {
    await stop();
  }
});

test("an approval is handed on to the next group, and one out of turn can be rejected, not withdrawn", async ({ page }) => {
  test.setTimeout(120_000);
  const keys = { ann: "", bob: "", ruth: "" };
  const config = [
    '[[approvals.groups]]\nname = "on-call"\nusers = ["bob"]',
    '[[approvals.groups]]\nname = "leads"\nusers = ["ruth"]\n',
  ].join("\n");
  const { url, server, stop } = await consoleOver({ config }, async (charter) => {
    for (const user of ["ann", "bob", "ruth"] as const) {
      const words = ["key", "--tenant", "acme", "create", user, "--role", "admin", "--user", user, "--output", "json"];
      keys[user] = (JSON.parse(await charter(...words)) as { secret: string }).secret;
    }
  });
  const api = apiOf(server.url, keys.ann);
  try {
    await api.post("/v1/packages", { files: files("0.1.0") });
    const { run_id: run } = await api.post<RunShown>("/v1/playbooks/yard.flush/runs", {
      parameters: { tank: "t-1", permit: "P-7" },
    });
    await until(api, run, "awaiting_approval");
    const { approvals } = await api.get<RunShown>(`/v1/runs/${run}`);
    const signIn = async (user: keyof typeof keys) => {
      await page.goto(`${url}/approvals/${approvals[0]?.approval_id ?? ""}`);
      await page.getByLabel("API key").fill(keys[user]);
      await page.keyboard.press("Enter");
      await expect(page.getByRole("heading", { name: "Your decision" })).toBeVisible();
    };
    const signOut = async () => {
      await page.getByRole("button", { name: "Sign out" }).click();
      await expect(page.getByLabel("API key")).toBeVisible();
    };
    const approve = page.getByRole("button", { name: "Approve" });
    await signIn("ruth");
    await expect(page.getByText("It is the turn of the group on-call")).toBeVisible();
    await expect(approve).toBeDisabled();
    await expect(page.getByRole("button", { name: "Reject" })).toBeEnabled();
    await expect(page.getByRole("button", { name: "Hand on to leads" })).toBeHidden();
    await looksRight(page, "approval-out-of-turn");
    await signOut();
    await signIn("bob");
    await page.getByRole("button", { name: "Hand on to leads" }).click();
    await expect(page.getByText("It was handed on. You can still decide.")).toBeVisible();
    await expect(page.getByRole("button", { name: "Hand on to leads" })).toBeHidden();
    await looksRight(page, "approval-handed-on");
    await signOut();
    await signIn("ann");
    await expect(page.getByRole("button", { name: "Withdraw" })).toBeEnabled();
    await signOut();
    await signIn("ruth");
    await approve.click();
    await expect(page.getByRole("heading", { name: /^Approved/ })).toBeVisible();
    await until(api, run, "completed");
  } finally {
    await stop();
  }
});

test("an interrupted call needs an approval, and an operator reports its output", async ({ page }) => {
  test.setTimeout(120_000);
  const vault = await silent();
  const { port } = vault.http.address() as AddressInfo;
  const { url, server, stop } = await consoleOver({ config: `[tools]\negress = ["127.0.0.1:${port}"]\n` });
  const api = apiOf(server.url);
  try {
    await api.post("/v1/packages", { files: purging(port) });
    await api.post<RunShown>("/v1/playbooks/vaults.purge/runs", { parameters: { vault: "main" } });
    await page.goto(`${url}/approvals`);
    await page.getByRole("link", { name: "vault.purge" }).click();
    await page.getByRole("button", { name: "Approve" }).click();
    // The call arrived. Its response never comes.
    await vault.called;
    await server.crash();
    await page.goto(`${url}/approvals?state=pending`);
    await expect(page.getByText("in doubt")).toBeVisible({ timeout: 30_000 });
    await page.getByRole("link", { name: "vault.purge" }).click();
    await expect(page.getByRole("heading", { name: "Did it happen?" })).toBeVisible();
    const output = page.getByLabel("Output of the call, if it happened");
    await output.fill("{purged");
    await expect(page.getByRole("button", { name: "It happened", exact: true })).toBeDisabled();
    await output.fill('{"purged": "many"}');
    await page.getByLabel("Reason").fill("The vault is empty.");
    await page.getByRole("button", { name: "It happened", exact: true }).click();
    await expect(page.getByRole("alert")).toContainText("invalid_document");
    await looksRight(page, "approval-in-doubt");
    await output.fill('{"purged": 3}');
    await page.getByRole("button", { name: "It happened", exact: true }).click();
    await expect(page.getByRole("heading", { name: "Reported as done" })).toBeVisible();
    await expect(page.getByLabel("Output", { exact: true })).toContainText('"purged": 3');
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

/** The yard's package with a destructive playbook that drains several tanks. */
function razing(): Record<string, string> {
  const found = files("0.1.0");
  const drain = JSON.parse(found["playbooks/drain.yaml"] ?? "") as Record<string, unknown>;
  const raze = {
    ...drain,
    playbook_id: "yard.raze",
    name: "Drain tanks for good",
    trigger_conditions: ["razing_is_wanted"],
    examples: ["raze the tanks of the yard"],
    mandatory_parameters: [
      { name: "yard", type: "string", description: "The yard", example: "south" },
      { name: "tanks", type: "array", description: "The tanks", example: ["t-1"] },
    ],
    parameters_from_findings: undefined,
    steps: [
      {
        step_id: "step_1",
        name: "Drain",
        type: "write",
        tool_id: "yard.drain",
        for_each: { items: "${user.tanks}" },
        parameters: { tank: "${item}" },
      },
    ],
    safety: { safety_class: "destructive", resource_parameter: "yard" },
  };
  return { ...found, "playbooks/raze.yaml": JSON.stringify(raze) };
}
