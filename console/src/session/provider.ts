/**
 * Sign-in at an identity provider: the browser leaves for the provider's page, and comes back to `/console/signed-in`
 * with a code. The server completes the sign-in only in the browser that started it.
 */

import { Charter } from "@charter/client";

/** The path to which the provider sends the browser back. */
const RETURN_PATH = "/console/signed-in";
/** The first screen. */
export const FIRST_SCREEN = "/console/";
/** Where the user was before the sign-in, in this tab. */
const BEFORE = "charter.before";

/** The parameters with which the provider sent the browser here, before the router reads and rewrites the address. */
const ARRIVED = location.pathname === RETURN_PATH ? new URLSearchParams(location.search) : undefined;

/** The sign-in that is being completed: a code can be used once, and React may run an effect twice. */
let completing: Promise<string> | undefined;

function server(): Charter {
  return new Charter({ baseUrl: location.origin });
}

/** An identity provider at which users sign in. */
export interface Provider {
  issuer: string;
  label: string;
}

/** The providers of this server. */
export async function providers(): Promise<Provider[]> {
  return (await server().get("/v1/sign-in")).providers;
}

/** Whether the provider sent the browser here. */
export function isReturn(): boolean {
  return ARRIVED !== undefined;
}

/** Leaves for the page of a provider. */
export async function leave(issuer: string): Promise<void> {
  const { authorization_url } = await server().post("/v1/sign-in", { body: { issuer } });
  sessionStorage.setItem(BEFORE, isReturn() ? FIRST_SCREEN : location.pathname + location.search);
  location.assign(authorization_url);
}

/** The screen that the user was on before the sign-in. Only a path of the console counts. */
function placeBefore(): string {
  const place = sessionStorage.getItem(BEFORE);
  sessionStorage.removeItem(BEFORE);
  return place?.startsWith(FIRST_SCREEN) === true ? place : FIRST_SCREEN;
}

/** Completes the sign-in with the parameters of the redirect; returns the screen to show then. */
export function completeSignIn(): Promise<string> {
  completing ??= complete();
  return completing;
}

async function complete(): Promise<string> {
  const answer = ARRIVED ?? new URLSearchParams();
  // The code must not stay in the history.
  history.replaceState(history.state, "", location.pathname);
  const error = answer.get("error");
  if (error !== null) throw new Error(`The identity provider did not sign you in: ${error}`);
  const [code, state, iss] = [answer.get("code"), answer.get("state"), answer.get("iss")];
  if (code === null || state === null) throw new Error("No sign-in was started here: sign in again.");
  await server().post("/v1/sign-in/complete", { body: { code, state, ...(iss === null ? {} : { iss }) } });
  return placeBefore();
}
