/** Keys: made with the secret shown once, rotated, revoked. */

import { consoleOver, expect, looksRight, test } from "./support";

test("a key is made with what it may do, shown once, rotated and revoked", async ({ page }) => {
  let root = { secret: "" };
  const { url, server, stop } = await consoleOver({}, async (charter) => {
    const words = ["key", "--tenant", "acme", "create", "root", "--role", "admin", "--user", "ann", "--output", "json"];
    root = JSON.parse(await charter(...words));
  });
  const mayList = (secret: string) =>
    fetch(`${server.url}/v1/packages`, { headers: { authorization: `Bearer ${secret}` } }).then(({ status }) => status);
  try {
    await page.goto(`${url}/keys`);
    await page.getByLabel("API key").fill(root.secret);
    await page.keyboard.press("Enter");
    await page.getByRole("button", { name: "Make a key" }).click();
    await page.getByLabel("Name").fill("ci");
    await page.getByLabel("Operator").check();
    await page.getByLabel("Only these").check();
    await page.getByText("read catalogue").click();
    await looksRight(page, "keys-make");
    await page.getByRole("button", { name: "Make the key" }).click();
    const dialog = page.getByRole("dialog", { name: "The key ci" });
    const secret = (await dialog.getByLabel("Command").first().textContent()) ?? "";
    expect(secret).toMatch(/^chk_[0-9a-f]{32}_[0-9a-f]{72}$/);
    expect(await mayList(secret)).toBe(200);
    await looksRight(page, "keys-secret");
    await dialog.getByRole("button", { name: "I have copied it" }).click();
    await expect(page.locator("body")).not.toContainText(secret);
    const row = page.getByRole("row").filter({ hasText: "ci" }).first();
    await expect(row).toContainText("operator");
    await expect(row).toContainText("catalogue:read");
    await looksRight(page, "keys");

    await page.getByRole("button", { name: "Rotate ci" }).click();
    await page.getByLabel("The old key lets in for").fill("0");
    await page.getByRole("button", { name: "Make the new key" }).click();
    const next = (await dialog.getByLabel("Command").first().textContent()) ?? "";
    expect(next).not.toBe(secret);
    await dialog.getByRole("button", { name: "I have copied it" }).click();
    await expect.poll(() => mayList(secret)).toBe(401);

    await page.getByRole("button", { name: "Revoke ci" }).click();
    await page.getByRole("button", { name: "Revoke the key" }).click();
    await expect(page.getByRole("row").filter({ hasText: "revoked" })).toHaveCount(1);
    expect(await mayList(next)).toBe(401);
  } finally {
    await stop();
  }
});

test("who keeps no keys is told so", async ({ page }) => {
  let guest = { secret: "" };
  const { url, stop } = await consoleOver({}, async (charter) => {
    await charter("key", "--tenant", "acme", "create", "root", "--role", "admin", "--user", "ann");
    const words = ["key", "--tenant", "acme", "create", "guest", "--role", "user", "--user", "bob", "--output", "json"];
    guest = JSON.parse(await charter(...words));
  });
  try {
    await page.goto(`${url}/keys`);
    await page.getByLabel("API key").fill(guest.secret);
    await page.keyboard.press("Enter");
    await expect(page.getByRole("alert")).toContainText("permission_denied");
    await looksRight(page, "keys-denied");
  } finally {
    await stop();
  }
});
