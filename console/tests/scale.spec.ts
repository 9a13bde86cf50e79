/** Screens stay smooth with 10,000 skills: only what is in view is drawn. Figures are printed. */

import { expect, type Page, test } from "./support";

const MANY = 10_000;

/** How many packages have them. */
const PACKAGES = 4;

/** How much longer than at rest a frame may take while somebody scrolls, at the median, in milliseconds. */
const SLOWER_MS = 50;

test("the skill tree and the list of skills stay smooth with 10,000 of them", { tag: "@measured" }, async ({ page, fresh: { url, server } }) => {
  const leaves = Array.from({ length: MANY - 1 }, (_, at) => ({
    skill_id: `many.skill-${String(at).padStart(5, "0")}`,
    summary: `Does thing ${at} of the many things there are to do.`,
    is_folder: false,
    instruction: `Do thing ${at}.`,
  }));
  const folder = { skill_id: "many", summary: "Many.", is_folder: true, sub_skills: leaves.map((leaf) => leaf.skill_id) };
  const sent = await fetch(`${server.url}/v1/agent-skills/bulk`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ skills: [...leaves, folder] }),
  });
  expect(sent.status).toBe(200);
  await page.goto(`${url}/skills`);
  const opened = Date.now();
  await page.getByRole("treeitem", { name: "many" }).click();
  await expect(page.getByRole("treeitem", { name: "many.skill-00000" })).toBeVisible();
  console.log(`scale: a folder of ${MANY - 1} skills is open after ${Date.now() - opened} ms`);
  await staysSmooth(page, ".tree", "the skill tree");

  await server.registerOwn("cost-hygiene", (files) => delete files["tests/routing.yaml"]);
  for (let part = 0; part < PACKAGES; part += 1) await server.registerOwn("cost-hygiene", (files) => copied(files, part));
  const begun = Date.now();
  await page.goto(`${url}/catalogue/skill`);
  await expect(page.getByRole("table", { name: "Skills" }).getByRole("row").nth(5)).toBeVisible();
  console.log(`scale: the list of ${MANY} skills is shown after ${Date.now() - begun} ms`);
  await expect(page.getByRole("status").filter({ hasText: String(MANY) })).toBeVisible();
  await staysSmooth(page, ".listing", "the list of skills");
  const found = Date.now();
  await page.getByLabel("Find by id or title").fill("copy_09876");
  await expect(page.getByRole("row").filter({ hasText: "copy_09876" })).toBeVisible();
  console.log(`scale: one of ${MANY} skills is found after ${Date.now() - found} ms`);
});

/** A package of small skills alone; no package may have all of them. */
function copied(files: Record<string, string>, part: number): void {
  const manifest = files["package.yaml"] ?? "";
  for (const path of Object.keys(files)) delete files[path];
  files["package.yaml"] = manifest.replace(/^name: .*$/m, `name: many-${part}`);
  for (let at = part; at < MANY - 2; at += PACKAGES) {
    const name = `copy_${String(at).padStart(5, "0")}`;
    files[`skills/cost.${name}.yaml`] = small(name);
  }
}

function small(name: string): string {
  return `skill_id: cost.${name}
name: ${name}
domain: cost
tier: basic
display_name: Volumes, ${name}
description: Lists volumes; one of many skills that do.
purpose: be one of many
capabilities: [list volumes]
capability_id: cost.${name}
context: { context_descriptions: [volumes], supported_context_types: [resource_scope_summary] }
output_type: finding
parameters: [{ name: region, type: string, required: true, description: AWS region, example: eu-west-1 }]
execution_plan:
  steps:
    - { step_id: step_1, type: read, tool_id: aws.list_volumes, description: Lists, parameters: { region: "\${user.region}" } }
`;
}

/** Scrolls from top to end: few rows are in the document, and frames come quickly. */
async function staysSmooth(page: Page, frame: string, what: string): Promise<void> {
  const { frames, rows, rest } = await page.evaluate(async (selector) => {
    const list = document.querySelector(selector);
    if (list === null) throw new Error(`there is no ${selector}`);
    const sorted = (times: number[]) => times.sort((a, b) => a - b);
    const rest: number[] = [];
    for (let at = 0, before = performance.now(); at < 30; at += 1) {
      await new Promise((done) => requestAnimationFrame(done));
      rest.push(performance.now() - before);
      before = performance.now();
    }
    const frames: number[] = [];
    let rows = 0;
    let last = performance.now();
    for (let step = 1; step <= 120; step += 1) {
      list.scrollTop += 700;
      await new Promise((done) => requestAnimationFrame(done));
      const now = performance.now();
      frames.push(now - last);
      last = now;
      rows = Math.max(rows, list.querySelectorAll('[role="row"], [role="treeitem"]').length);
    }
    return { frames: sorted(frames), rows, rest: sorted(rest)[15] ?? 0 };
  }, frame);
  const at = (share: number) => Math.round((frames[Math.floor(frames.length * share)] ?? 0) * 10) / 10;
  console.log(`scale: scrolling ${what}: frames of ${at(0.5)} ms (median), ${at(0.95)} ms (95 %), ${Math.round(rest * 10) / 10} ms at rest, at most ${rows} rows drawn`);
  expect(rows).toBeLessThan(100);
  expect(at(0.5)).toBeLessThan(rest + SLOWER_MS);
}
