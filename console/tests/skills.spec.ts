/** The skill tree: walked, searched, read one instruction at a time. */

import { expect, looksRight, test } from "./support";

/** A small tree with a file and a child that does not exist. */
const SKILLS = [
  { skill_id: "sql", summary: "Everything about databases.", is_folder: true, sub_skills: ["sql.migration", "sql.index"] },
  {
    skill_id: "sql.migration",
    summary: "Change a schema without stopping anybody.",
    is_folder: false,
    instruction: "Expand first.\nThen contract.",
  },
  { skill_id: "sql.index", summary: "Add an index to a large table.", is_folder: false, instruction: "Concurrently." },
  { skill_id: "broken", summary: "Points at nothing.", is_folder: true, sub_skills: ["gone"] },
];

const IMPORTED = {
  "pdf/SKILL.md": "---\nname: pdf\ndescription: Read and fill in PDF forms.\n---\nUse scripts/fill.py.\n",
  "pdf/scripts/fill.py": "print('filled in')\n",
};

test("skills are walked by keyboard, searched by words, and read with their files", async ({ page, fresh: { url, server } }) => {
  await page.goto(`${url}/skills`);
  await expect(page.getByRole("heading", { name: "No agent skills yet" })).toBeVisible();
  await looksRight(page, "skills-empty");
  const send = (path: string, body: unknown) =>
    fetch(`${server.url}/v1/agent-skills/${path}`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify(body),
    });
  const files = Object.entries(IMPORTED).map(([path, text]) => ({ path, text, executable: path.endsWith(".py") }));
  expect((await send("bulk", { skills: SKILLS })).status).toBe(200);
  expect((await send("import", { files })).status).toBe(200);

  await page.goto(`${url}/skills`);
  const tree = page.getByRole("tree", { name: "Agent skills" });
  await expect(tree.getByRole("treeitem")).toHaveText(["broken", "pdf", "sql"]);
  await expect(page.getByRole("region", { name: "Check of all skills" })).toContainText("dangling child");
  await tree.getByRole("treeitem", { name: "broken" }).focus();
  // Faster than the page draws.
  await page.evaluate(() => {
    for (const key of ["ArrowDown", "ArrowDown"]) {
      document.activeElement?.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true }));
    }
  });
  await page.keyboard.press("ArrowRight");
  await expect(tree.getByRole("treeitem")).toHaveText(["broken", "pdf", "sql", "sql.migration", "sql.index"]);
  await page.keyboard.press("ArrowRight");
  await page.keyboard.press("Enter");
  await expect(page.getByLabel("Instruction", { exact: true })).toContainText("Then contract.");
  await expect(tree.getByRole("treeitem", { name: "sql.migration" })).toHaveAttribute("aria-selected", "true");
  await looksRight(page, "skills");

  await page.goto(`${url}/skills?skill=pdf`);
  await page.getByRole("link", { name: "scripts/fill.py" }).click();
  await expect(page.getByLabel("scripts/fill.py", { exact: true })).toContainText("print('filled in')");
  await looksRight(page, "skill-file");

  await page.getByLabel("Find a skill by what it does").fill("index on a table");
  await expect(page.getByRole("list", { name: "Skills that were found" }).getByRole("listitem").first()).toContainText(
    "sql.index",
  );
  await looksRight(page, "skills-found");
});
