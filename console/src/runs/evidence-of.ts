/** Which step each record of a run's evidence came from. */

import type { Charter } from "@charter/client";

/** A record, as far as a step's panel needs it. */
export interface StepRecord {
  id: string;
  summary: string;
  /** Absent where the record does not say it, as those of skills' runs. */
  step: string | undefined;
  tool: string | undefined;
}

/** Records of one page: each carries its whole payload. */
const PAGE = 50;

/** Records that are looked at for one run. */
const MOST = 500;

export async function evidenceOf(charter: Charter, run: string): Promise<StepRecord[]> {
  const found: StepRecord[] = [];
  let after: string | undefined;
  do {
    const query = { run_id: run, limit: PAGE, ...(after === undefined ? {} : { after }) };
    const page = await charter.get("/v1/evidence", { params: { query } });
    for (const { id, summary, payload } of page.entries) {
      const of = payload["run"] as { step?: string } | undefined;
      found.push({ id, summary, step: of?.step, tool: payload["tool_id"] as string | undefined });
    }
    after = page.next ?? undefined;
  } while (after !== undefined && found.length < MOST);
  return found;
}
