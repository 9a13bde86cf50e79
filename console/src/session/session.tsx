/**
 * Who is asking. A server on loopback without keys needs no key; any other does. The key is kept for this
 * tab only, in `sessionStorage`, and is gone when the tab is closed.
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

const KEY = "charter.key";

const SignIn = lazy(() => import("./sign-in"));

/** A session that is open. */
interface Session {
  /** The client, with the key of this session. */
  charter: Charter;
  /** Who asks, and what they may do. */
  caller: CallerShown;
  /** Whether a key was given, so that there is something to sign out of. */
  withKey: boolean;
  /** Forgets the key. */
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

/** A client of the server that the console came from. */
function client(key: string | undefined): Charter {
  return new Charter({ baseUrl: location.origin, key });
}

/** Who asks, and what they may do. What a screen offers follows it; the server decides all the same. */
export function useCaller(): CallerShown {
  return useSession().caller;
}

/** How far the session is. */
type Standing =
  | { at: "asking" }
  | { at: "open"; caller: CallerShown }
  | { at: "closed"; error: CharterError | undefined };

/** Draws `children` once the server knows who is asking, and a form for the key until then. */
export function SessionProvider({ children }: { children: ReactNode }) {
  const queries = useQueryClient();
  const [key, setKey] = useState(() => sessionStorage.getItem(KEY) ?? undefined);
  const [standing, setStanding] = useState<Standing>({ at: "asking" });

  const open = useCallback(
    async (candidate: string | undefined, asked: boolean) => {
      let caller: CallerShown;
      try {
        caller = await client(candidate).get("/v1/caller");
      } catch (error) {
        if (!(error instanceof CharterError)) throw error;
        const isFirstLook = error.code === "unauthenticated" && !asked && candidate === undefined;
        setStanding({ at: "closed", error: isFirstLook ? undefined : error });
        return;
      }
      if (candidate === undefined) sessionStorage.removeItem(KEY);
      else sessionStorage.setItem(KEY, candidate);
      queries.clear();
      // In pieces: all of the screen at once would hold up the page for long.
      startTransition(() => {
        setKey(candidate);
        setStanding({ at: "open", caller });
      });
    },
    [queries],
  );

  const close = useCallback(
    (error?: CharterError) => {
      sessionStorage.removeItem(KEY);
      queries.clear();
      setKey(undefined);
      setStanding({ at: "closed", error });
    },
    [queries],
  );

  useEffect(() => {
    void open(sessionStorage.getItem(KEY) ?? undefined, false);
  }, [open]);
  useEffect(() => onRefusal(close), [close]);
  useLayoutEffect(() => {
    // The page's own frame stands there until there is something else to see.
    if (standing.at !== "asking") document.getElementById("frame")?.remove();
  }, [standing.at]);

  const caller = standing.at === "open" ? standing.caller : undefined;
  const session = useMemo<Session | undefined>(
    () =>
      caller === undefined
        ? undefined
        : { charter: client(key), caller, withKey: key !== undefined, signOut: () => close() },
    [key, caller, close],
  );
  if (standing.at === "asking") return null;
  if (standing.at === "closed") {
    return (
      <Suspense fallback={null}>
        <SignIn error={standing.error} onKey={(text) => open(text, true)} />
      </Suspense>
    );
  }
  return <SessionContext.Provider value={session}>{children}</SessionContext.Provider>;
}
