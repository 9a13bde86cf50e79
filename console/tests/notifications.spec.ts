/** Notifications: channels, a test message, and what was delivered or failed. */

import { createServer, type Server as HttpServer } from "node:http";
import type { AddressInfo } from "node:net";

import type { RunShown } from "@charter/client";

import { files, until } from "./at-work";
import { apiOf } from "./estate";
import { consoleOver, expect, looksRight, test } from "./support";

/** How long a delivery may take, in milliseconds. */
const DELIVERED_MS = 60_000;

test("channels are tested, and a failed run is sent to them", async ({ page }) => {
  test.setTimeout(120_000);
  const receiver = await receiving();
  const { port } = receiver.address() as AddressInfo;
  const environment = { OPS_SECRET: `whsec_${Buffer.alloc(32, 7).toString("base64")}` };
  const { url, server, stop } = await consoleOver({ config: channels(port), environment });
  const api = apiOf(server.url);
  try {
    await page.goto(`${url}/notifications`);
    const list = page.getByRole("list", { name: "Channels" });
    await expect(list.getByRole("listitem")).toHaveCount(2);
    await expect(list).toContainText("run.failed");
    await page.getByRole("button", { name: "Test ops" }).click();
    await expect(list.getByText("accepted", { exact: true })).toBeVisible();
    await page.getByRole("button", { name: "Test strict" }).click();
    await expect(list.getByText("not accepted")).toBeVisible();

    await api.post("/v1/packages", { files: files("0.1.0") });
    const parameters = { tank: "t-9", permit: "P-7" };
    const { run_id: run, status, plan_digest: digest } = await api.post<RunShown>("/v1/playbooks/yard.drain/runs", { parameters });
    if (status === "awaiting_confirmation") await api.post(`/v1/runs/${run}/confirm`, { digest });
    await until(api, run, "failed");
    const sent = page.getByRole("table", { name: "Notifications" });
    await page.reload();
    const rows = sent.getByRole("row").filter({ hasText: "run.failed" });
    const stateOf = (channel: string, state: string) => rows.filter({ hasText: channel }).getByText(state, { exact: true });
    await expect(stateOf("ops", "delivered")).toBeVisible({ timeout: DELIVERED_MS });
    await expect(stateOf("strict", "failed")).toBeVisible({ timeout: DELIVERED_MS });
    await looksRight(page, "notifications");
    await page.getByRole("combobox", { name: "Channel" }).selectOption("strict");
    await page.getByRole("combobox", { name: "State" }).selectOption("failed");
    await expect(rows).toHaveCount(1);
    await expect(page).toHaveURL(/channel=strict/);
  } finally {
    receiver.close();
    await stop();
  }
});

/** Two channels by webhooks: one that accepts messages, one that refuses them. */
function channels(port: number): string {
  const channel = (name: string) => [
    `[notifications.channels.${name}]`,
    'kind = "webhook"',
    `url = "http://127.0.0.1:${port}/${name}"`,
    `egress = ["127.0.0.1:${port}"]`,
    'secrets = [{ variable = "OPS_SECRET" }]',
  ];
  const rule = ["[[notifications.rules]]", 'topics = ["run.failed"]', 'channels = ["ops", "strict"]'];
  return [...channel("ops"), ...channel("strict"), ...rule, ""].join("\n");
}

/** A receiver of webhooks that refuses those of the channel `strict`. */
async function receiving(): Promise<HttpServer> {
  const http = createServer((request, response) => {
    request.resume();
    request.once("end", () => response.writeHead(request.url === "/strict" ? 400 : 204).end());
  });
  await new Promise<void>((done) => http.listen(0, "127.0.0.1", done));
  return http;
}
