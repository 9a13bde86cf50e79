/** A person signs in to the console at a real OpenID provider, works, and signs out, here and at the provider. */

import { type ChildProcess, spawn } from "node:child_process";
import { join } from "node:path";

import { ROOT } from "../../clients/typescript/tests/server";
import { consoleOver, expect, freePort, looksRight, test } from "../tests/support";

const INSTALLED = join(ROOT, "target", "console", "provider", "npm");

/** Starts the provider for a console. */
async function provider(port: number, url: string): Promise<ChildProcess> {
  const words = [join(ROOT, "console", "provider", "serve.mjs"), INSTALLED, String(port), url];
  const child = spawn(process.execPath, words, { stdio: ["ignore", "pipe", "inherit"] });
  await new Promise<void>((listening, failed) => {
    child.once("exit", (code) => failed(new Error(`the provider ended with ${code}`)));
    child.stdout?.on("data", (text: Buffer) => text.includes("listening") && listening());
  });
  return child;
}

function configuration(port: number): string {
  return `
[[auth.oidc]]
issuer = "http://127.0.0.1:${port}"
audiences = ["charter"]
tenant_claim = "org"
tenants = ["acme"]

[auth.oidc.console]
label = "Example ID"
client_id = "console"
egress = ["127.0.0.1:${port}"]

[[auth.oidc.grants]]
claim = "groups"
value = "charter-admins"
role = "admin"
`;
}

test("a person signs in at a provider, makes a key, and signs out", async ({ page, context }) => {
  const port = await freePort();
  const { server, url, stop } = await consoleOver({ config: configuration(port) });
  const child = await provider(port, server.url);
  try {
    await page.goto(`${url}/health`);
    const signIn = page.getByRole("button", { name: "Sign in with Example ID" });
    await expect(signIn).toBeVisible();
    await looksRight(page, "sign-in-provider");
    await signIn.click();
    await page.locator("input[name=login]").fill("mia");
    await page.locator("input[name=password]").fill("any");
    await page.getByRole("button", { name: "Sign-in" }).click();
    await page.getByRole("button", { name: "Continue" }).click();
    // The screen that was asked for is the one that is shown, and the code is not in the address.
    await expect(page.getByRole("heading", { name: "Health and quotas" })).toBeVisible();
    expect(new URL(page.url()).search).toBe("");
    await expect(page.getByText("mia · admin")).toBeVisible();

    const cookies = await context.cookies(url);
    const session = cookies.find(({ name }) => name === "charter_session");
    expect(session).toMatchObject({ httpOnly: true, sameSite: "Strict", path: "/" });
    expect(await page.evaluate(() => document.cookie)).toBe("");
    expect(await page.evaluate(() => sessionStorage.getItem("charter.key"))).toBeNull();

    // The cookie alone changes nothing: the page's token is missing.
    const bare = await page.evaluate(async () => {
      const body = JSON.stringify({ name: "stolen", role: "user" });
      const headers = { "content-type": "application/json" };
      return (await fetch("/v1/keys", { method: "POST", headers, body })).status;
    });
    expect(bare).toBe(403);

    await page.reload();
    await expect(page.getByText("mia · admin")).toBeVisible();
    await page.getByRole("button", { name: "Sign out" }).click();
    await expect(page.getByRole("status").filter({ hasText: "signed out" })).toBeVisible();
    const after = await page.evaluate(async () => (await fetch("/v1/caller")).status);
    expect(after).toBe(401);
    await page.getByRole("link", { name: "Sign out of the identity provider too" }).click();
    await page.getByRole("button", { name: "Yes, sign me out" }).click();
    await expect(page.getByRole("button", { name: "Sign in with Example ID" })).toBeVisible();
  } finally {
    child.kill("SIGTERM");
    await stop();
  }
});
