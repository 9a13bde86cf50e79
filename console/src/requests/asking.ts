/** Asks a question and leads to the request's screen. The page chooses the request's id, so that a failure is shown there too. */

import type { Charter, RequestMetadata } from "@charter/client";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";

import { toHex } from "~/evidence/verify/bytes";
import { useCharter } from "~/session/session";

/** The words of a request, with parameters or a document that it names. */
export interface Question {
  input: string;
  metadata?: RequestMetadata;
}

/** Asks in a session, or in a new one. */
export function useAsk(session: string | undefined) {
  const charter = useCharter();
  const queries = useQueryClient();
  const navigate = useNavigate();
  return useMutation({
    mutationFn: async ({ input, metadata }: Question) => {
      const session_id = session ?? (await charter.post("/v1/sessions")).session_id;
      const id = newRequestId();
      const timestamp = new Date().toISOString();
      const body = { id, session_id, timestamp, input, ...(metadata === undefined ? {} : { metadata }) };
      try {
        await charter.post("/v1/requests", { body });
      } catch (error) {
        if (!(await isRecorded(charter, id))) throw error;
      }
      return id;
    },
    onSuccess: async (request) => {
      // The session has a turn more.
      void queries.invalidateQueries({ queryKey: ["requests"] });
      await navigate({ to: "/requests/$request", params: { request } });
    },
  });
}

/** Whether a request that failed was taken: then its screen shows what it failed with. */
function isRecorded(charter: Charter, id: string): Promise<boolean> {
  return charter.get("/v1/requests/{id}", { params: { path: { id } } }).then(
    () => true,
    () => false,
  );
}

/** A random UUID. The platform makes none on pages of plain HTTP. */
function newRequestId(): string {
  const digits = toHex(crypto.getRandomValues(new Uint8Array(16)));
  const part = (from: number, to: number) => digits.slice(from, to);
  return `req-${part(0, 8)}-${part(8, 12)}-4${part(13, 16)}-8${part(17, 20)}-${part(20, 32)}`;
}
