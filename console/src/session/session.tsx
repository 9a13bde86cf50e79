/**
 * Who is asking. A server on loopback without keys needs no key; any other needs a key, or a session that a sign-in at
 * an identity provider opened. The key is kept for this tab only, in `sessionStorage`, and is gone when the tab is
 * closed. The session is a cookie that this page cannot read; the server gives the page a token for its changes.
 */

import { type CallerShown, Charter, CharterError } from "@charter/client";
import { useQueryClient } from "@tanstack/react-query";
import {
  createContext,
  lazy,
  type ReactNode,
  startTransition,
  Suspense,
  useCallback,
  useContext,
  useEffect,
  useLayoutEffect,
  useMemo,
  useState,
} from "react";

import { onRefusal } from "~/queries";
import { completeSignIn, FIRST_SCREEN, isReturn, providers } from "~/session/provider";

const KEY = "charter.key";

const SignIn = lazy(() => import("./sign-in"));

/** A session that is open. */
interface Session {
  /** The client, with the key of this session. */
  charter: Charter;
  /** Who asks, and what they may do. */
  caller: CallerShown;
  /** How the caller is known: by a key, by a session, or as the user of the server's machine. */
  by: "key" | "session" | "machine";
  /** Forgets the key, or ends the session. */
  signOut: () => void;
}

const SessionContext = createContext<Session | undefined>(undefined);

/** The session; screens are drawn only while there is one. */
export function useSession(): Session {
  const session = useContext(SessionContext);
  if (session === undefined) throw new Error("there is no session here: `SessionProvider` is missing");
  return session;
}

/** The client of the session. */
export function useCharter(): Charter {
  return useSession().charter;
}

/** What a client shows the server: a key, or the token of the page of a session. */
interface Credential {
  key?: string | undefined;
  pageToken?: string | undefined;
}

/** A client of the server that the console came from. */
function client(credential: Credential): Charter {
  return new Charter({ baseUrl: location.origin, ...credential });
}

/** The token of this browser's session; none where users do not sign in. */
async function pageToken(): Promise<string | undefined> {
  if ((await providers()).length === 0) return undefined;
  return (await client({}).get("/v1/console-session")).page_token;
}

/** Who asks, and what they may do. What a screen offers follows it; the server decides all the same. */
export function useCaller(): CallerShown {
  return useSession().caller;
}

/** How far the session is. */
type Standing =
  | { at: "asking" }
  | { at: "open"; caller: CallerShown }
  | { at: "closed"; error: Error | undefined; signOutUrl?: string | undefined };

/** Draws `children` once the server knows who is asking, and a form for the key until then. */
export function SessionProvider({ children }: { children: ReactNode }) {
  const queries = useQueryClient();
  const [credential, setCredential] = useState<Credential>({});
  const [standing, setStanding] = useState<Standing>({ at: "asking" });

  const open = useCallback(
    async (candidate: string | undefined, asked: boolean) => {
      let caller: CallerShown;
      let found: Credential = { key: candidate };
      try {
        caller = await client(found).get("/v1/caller");
        if (candidate === undefined) found = { pageToken: await pageToken() };
      } catch (error) {
        if (!(error instanceof CharterError)) throw error;
        const isFirstLook = error.code === "unauthenticated" && !asked && candidate === undefined;
        setStanding({ at: "closed", error: isFirstLook ? undefined : error });
        return;
      }
      if (candidate === undefined) sessionStorage.removeItem(KEY);
      else sessionStorage.setItem(KEY, candidate);
      if (isReturn()) {
        // A sign-in failed here before: its address is no screen.
        location.replace(FIRST_SCREEN);
        return;
      }
      queries.clear();
      // In pieces: all of the screen at once would hold up the page for long.
      startTransition(() => {
        setCredential(found);
        setStanding({ at: "open", caller });
      });
    },
    [queries],
  );

  const close = useCallback(
    (error?: CharterError, signOutUrl?: string) => {
      sessionStorage.removeItem(KEY);
      queries.clear();
      setCredential({});
      setStanding({ at: "closed", error, signOutUrl });
    },
    [queries],
  );

  useEffect(() => {
    if (!isReturn()) {
      void open(sessionStorage.getItem(KEY) ?? undefined, false);
      return;
    }
    completeSignIn().then(
      // The page is loaded again: the address of the redirect must not stay in the history.
      (place) => location.replace(place),
      (error: unknown) => setStanding({ at: "closed", error: error instanceof Error ? error : new Error(String(error)) }),
    );
  }, [open]);
  useEffect(() => onRefusal(close), [close]);
  useLayoutEffect(() => {
    // The page's own frame is shown until the first screen is drawn.
    if (standing.at !== "asking") document.getElementById("frame")?.remove();
  }, [standing.at]);

  const caller = standing.at === "open" ? standing.caller : undefined;
  const session = useMemo<Session | undefined>(
    () =>
      caller === undefined
        ? undefined
        : { charter: client(credential), caller, by: known(credential), signOut: () => void end(credential, close) },
    [credential, caller, close],
  );
  if (standing.at === "asking") return null;
  if (standing.at === "closed") {
    return (
      <Suspense fallback={null}>
        <SignIn error={standing.error} signOutUrl={standing.signOutUrl} onKey={(text) => open(text, true)} />
      </Suspense>
    );
  }
  return <SessionContext.Provider value={session}>{children}</SessionContext.Provider>;
}

function known({ key, pageToken: token }: Credential): Session["by"] {
  if (key !== undefined) return "key";
  return token === undefined ? "machine" : "session";
}

/** Ends the session, if there is one, and closes the console. A session that the server does not know has ended. */
async function end(credential: Credential, close: (error?: CharterError, signOutUrl?: string) => void): Promise<void> {
  if (known(credential) !== "session") {
    close();
    return;
  }
  try {
    const { sign_out_url } = await client(credential).delete("/v1/console-session");
    close(undefined, sign_out_url);
  } catch (error) {
    if (!(error instanceof CharterError)) throw error;
    close(error.code === "unauthenticated" ? undefined : error);
  }
}
