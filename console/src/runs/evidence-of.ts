/** Which step each record of a run's evidence came from. */

import type { Charter } from "@charter/client";

/** The fields of a record that a citation needs. */
export interface StepRecord {
  id: string;
  summary: string;
  /** Absent for a record that was attached later. */
  step: string | undefined;
}

export async function evidenceOf(charter: Charter, run: string): Promise<StepRecord[]> {
  const { evidence } = await charter.get("/v1/runs/{id}", { params: { path: { id: run } } });
  return evidence.map(({ evidence_id: id, summary, step }) => ({ id, summary, step }));
}
