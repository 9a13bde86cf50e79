/**
 * Connects an account that tools act with: `Connect` sends the user to the authorization server, which sends the browser
 * back to `Connected`. The server checks that the same user completes the connection.
 */

import { Button, Text } from "@mantine/core";
import { useMutation } from "@tanstack/react-query";
import { useParams } from "@tanstack/react-router";
import { useEffect, useRef } from "react";

import { Failure } from "~/parts/failure";
import { PageHead } from "~/parts/page-head";
import { useCaller, useCharter } from "~/session/session";

/** The name of the account that this tab is connecting. */
const CONNECTING = "charter.connecting";

export function Connect() {
  const charter = useCharter();
  const caller = useCaller();
  const { name = "" } = useParams({ strict: false });
  const connect = useMutation({
    mutationFn: () => charter.post("/v1/credentials/{name}/connect", { params: { path: { name } }, body: {} }),
    onSuccess: ({ authorization_url }) => {
      sessionStorage.setItem(CONNECTING, name);
      location.assign(authorization_url);
    },
  });
  return (
    <>
      <PageHead
        title={`Connect ${name}`}
        lead={`Tools that name this account then act with it on behalf of ${caller.user}, and of no other user.`}
      />
      {connect.error !== null && <Failure error={connect.error} />}
      <Button mt="md" loading={connect.isPending} onClick={() => connect.mutate()}>
        Connect the account
      </Button>
    </>
  );
}

export function Connected() {
  const charter = useCharter();
  const begun = useRef(false);
  const complete = useMutation({
    mutationFn: async () => {
      const answer = new URLSearchParams(location.search);
      const name = sessionStorage.getItem(CONNECTING) ?? "";
      sessionStorage.removeItem(CONNECTING);
      // The code is used once, and must not stay in the history.
      history.replaceState(history.state, "", location.pathname);
      const error = answer.get("error");
      if (error !== null) throw new Error(`The authorization server granted no access: ${error}`);
      const [code, state, iss] = [answer.get("code"), answer.get("state"), answer.get("iss")];
      if (name === "" || code === null || state === null) {
        throw new Error("This tab started no connection: open the link to connect again.");
      }
      return charter.post("/v1/credentials/{name}/complete", {
        params: { path: { name } },
        body: { code, state, ...(iss === null ? {} : { iss }) },
      });
    },
  });
  const { mutate } = complete;
  useEffect(() => {
    // The code can be used once, and React may run an effect twice.
    if (begun.current) return;
    begun.current = true;
    mutate();
  }, [mutate]);
  return (
    <>
      <PageHead title="Connect an account" />
      {complete.isPending && <Text>Completing the connection …</Text>}
      {complete.error !== null && <Failure error={complete.error} />}
      {complete.data !== undefined && (
        <Text>
          The account <span className="mono">{complete.data.name}</span> is connected. Start the request or run again.
        </Text>
      )}
    </>
  );
}
