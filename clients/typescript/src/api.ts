/**
 * The paths of the OpenAPI document, with types of answers where the document says only that an answer
 * is an object. What the document describes itself needs no line in `Answers`.
 */

import type { Answers } from "./answers.js";
import type { paths } from "./generated/openapi.js";

/** Statuses that carry an answer. */
type Success = 200 | 201;

/** An operation whose answer has the given type. */
type Answering<Operation, Answer> = Operation extends { responses: infer Responses }
  ? Omit<Operation, "responses"> & {
      responses: Omit<Responses, Success> & {
        200: { headers: Record<string, unknown>; content: { "application/json": Answer } };
      };
    }
  : Operation;

/** The operations of one path. */
type Operations<Path extends keyof paths> = {
  [Method in keyof paths[Path]]: Path extends keyof Answers
    ? Method extends keyof Answers[Path]
      ? Answering<paths[Path][Method], Answers[Path][Method]>
      : paths[Path][Method]
    : paths[Path][Method];
};

/** Every path with its operations. */
export type Api = { [Path in keyof paths]: Operations<Path> };
