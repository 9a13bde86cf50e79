/** Signing in, finding one's way, knowing whether what is shown is live. */

import { join } from "node:path";

import { consoleOver, expect, looksRight, SCREENSHOTS, test } from "./support";

/** Screens that no other story sees empty: what they say, and the command that makes the first one. */
const EMPTY = [
  ["packages", "No packages yet", "charter package register packages/aws-security"],
  ["lenses", "No lenses yet", "charter package register packages/aws-security"],
  ["graph", "The graph is empty", "charter package register packages/aws-security"],
  ["schedules", "No schedule is enabled", "charter schedule enable"],
  ["notifications", "No channels yet", "charter config schema"],
  ["keys", "No keys yet", "charter key create ci"],
] as const;

test("a server without keys is open to the local user, and an empty one says how to begin", async ({ page, fresh: { url, server } }) => {
  await page.goto(`${url}/`);
  await expect(page.getByRole("heading", { name: "Nothing is in force yet" })).toBeVisible();
  await expect(page.getByText("charter package register packages/aws-security")).toBeVisible();
  await expect(page.getByRole("status").filter({ hasText: "Live" })).toBeVisible();
  await looksRight(page, "overview-empty");
  await page.goto(`${url}/catalogue/playbook`);
  await expect(page.getByRole("heading", { name: "No playbooks yet" })).toBeVisible();
  await looksRight(page, "documents-empty");
  for (const [path, says, command] of EMPTY) {
    await page.goto(`${url}/${path}`);
    await expect(page.getByRole("heading", { name: says })).toBeVisible();
    await expect(page.getByLabel("Command").getByText(command)).toBeVisible();
    await looksRight(page, `${path}-empty`);
  }
  await page.goto(`${url}/`);
  await server.registerOwn("cost-hygiene");
  // No reload: the event of the registration did it.
  await expect(page.getByRole("heading", { name: "Packages in force" })).toBeVisible();
  await expect(page.getByText("cost-hygiene")).toBeVisible();
});

test("a server with keys asks for one, keeps it for the tab only, and asks again when it was revoked", async ({
  page,
}) => {
  let root = { secret: "" };
  let guest = { secret: "", key_id: "" };
  const { url, stop } = await consoleOver({}, async (charter) => {
    const make = ["key", "--tenant", "acme", "create"];
    root = JSON.parse(await charter(...make, "root", "--role", "admin", "--user", "ann", "--output", "json"));
    guest = JSON.parse(await charter(...make, "guest", "--role", "user", "--user", "bob", "--output", "json"));
  });
  try {
    await page.goto(`${url}/health`);
    const key = page.getByLabel("API key");
    await expect(key).toBeFocused();
    await looksRight(page, "sign-in");
    await key.fill("chk_wrong");
    await page.getByRole("button", { name: "Sign in" }).click();
    await expect(page.getByRole("alert")).toContainText("unauthenticated");
    await looksRight(page, "sign-in-refused");
    await key.fill(guest.secret);
    await page.keyboard.press("Enter");
    // The address that was asked for is the one that is shown.
    await expect(page.getByRole("heading", { name: "Health and quotas" })).toBeVisible();
    const kept = await page.evaluate(() => [sessionStorage.getItem("charter.key"), JSON.stringify(localStorage)]);
    expect(kept[0]).toBe(guest.secret);
    expect(kept[1]).not.toContain(guest.secret);
    const revoked = await fetch(`${url.replace("/console", "")}/v1/keys/${guest.key_id}/revoke`, {
      method: "POST",
      headers: { authorization: `Bearer ${root.secret}` },
    });
    expect(revoked.status).toBe(200);
    await page.getByRole("link", { name: "Documents" }).click();
    await expect(page.getByLabel("API key")).toBeVisible();
    await expect(page.getByRole("alert")).toContainText("revoked");
    expect(await page.evaluate(() => sessionStorage.getItem("charter.key"))).toBeNull();
  } finally {
    await stop();
  }
});

test("everything in the shell works by keyboard", async ({ page, filled }) => {
  await page.goto(`${filled.url}/`);
  await expect(page.getByRole("heading", { name: "Packages in force" })).toBeVisible();
  await page.keyboard.press("Tab");
  await expect(page.getByRole("link", { name: "Go to the content" })).toBeFocused();
  await page.keyboard.press("Enter");
  await expect(page.locator("#content")).toBeFocused();
  await page.keyboard.press("?");
  await expect(page.getByRole("dialog", { name: "Keyboard shortcuts" })).toBeVisible();
  await looksRight(page, "shortcuts");
  await page.keyboard.press("Escape");
  await expect(page.getByRole("dialog")).toBeHidden();
  await page.keyboard.press("g");
  await page.keyboard.press("d");
  await expect(page.getByRole("heading", { name: "Skills", exact: true })).toBeVisible();
  await expect(page.locator("#content")).toBeFocused();
  await page.keyboard.press("/");
  await expect(page.getByLabel("Find by id")).toBeFocused();
  await page.keyboard.type("g d?");
  await expect(page.getByLabel("Find by id")).toHaveValue("g d?");
});

test("the colour scheme that was chosen stays", async ({ page, filled }) => {
  await page.goto(`${filled.url}/`);
  await page.getByRole("button", { name: "Change to dark" }).click();
  const scheme = page.locator("html");
  await expect(scheme).toHaveAttribute("data-mantine-color-scheme", "dark");
  await page.reload();
  await expect(page.getByRole("button", { name: "Change to light" })).toBeVisible();
  await expect(scheme).toHaveAttribute("data-mantine-color-scheme", "dark");
});

test("an address without a screen says so", async ({ page, filled }) => {
  await page.goto(`${filled.url}/no/such/screen`);
  await expect(page.getByRole("heading", { name: "There is no such screen" })).toBeVisible();
  await looksRight(page, "no-screen");
});

test("what is shown says when it is not live any more", async ({ page, filled }) => {
  await page.route("**/v1/events*", (route) => route.abort());
  await page.goto(`${filled.url}/`);
  await expect(page.getByRole("status").filter({ hasText: "Not live" })).toBeVisible();
  await page.unroute("**/v1/events*");
  await expect(page.getByRole("status").filter({ hasText: /^Live$/ })).toBeVisible({ timeout: 20_000 });
});

test("the page's frame stands there until its scripts came", async ({ page, filled }) => {
  let come: () => void = () => undefined;
  const wanted = new Promise<void>((done) => (come = done));
  await page.route("**/assets/*.js", async (route) => {
    await wanted;
    await route.continue();
  });
  await page.emulateMedia({ colorScheme: "dark" });
  await page.goto(`${filled.url}/`, { waitUntil: "commit" });
  await expect(page.locator("#frame").getByText("Charter")).toBeVisible();
  await expect(page.locator("#frame")).toHaveCSS("background-color", "rgb(15, 19, 22)");
  await page.screenshot({ path: join(SCREENSHOTS, "frame-dark.png") });
  come();
  await expect(page.getByRole("heading", { name: "Packages in force" })).toBeVisible();
  await expect(page.locator("#frame")).toHaveCount(0);
});
