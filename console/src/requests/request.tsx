/** One request: its words, its answer, the run and result of a change, and a field for the next request of the session. */

import type { RequestShown, SessionTurn } from "@charter/client";
import { Anchor, List, Text } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { getRouteApi, Link } from "@tanstack/react-router";

import { Loaded } from "~/parts/loaded";
import { Mark } from "~/parts/mark";
import { Moment } from "~/parts/moment";
import { PageHead } from "~/parts/page-head";
import { Section } from "~/parts/section";
import { Answer, Failed } from "~/requests/answer";
import { AskForm } from "~/requests/ask-form";
import { useRequest, useTurns } from "~/requests/request-query";
import { Result } from "~/requests/result";
import { Asked } from "~/runs/asked";
import { inWords, runTone } from "~/runs/words";
import { useCharter } from "~/session/session";

/** Characters of a title; longer words are shown below it in full. */
const TITLE = 120;

const route = getRouteApi("/requests/$request");

export function OneRequest() {
  const { request: id } = route.useParams();
  const query = useRequest(id);
  return <Loaded query={query}>{(request) => <Shown key={id} request={request} />}</Loaded>;
}

function Shown({ request }: { request: RequestShown }) {
  const { answer, result, run_id: run, request_id: id } = request;
  const { input, session_id: session } = request.received.request;
  const turns = useTurns(session);
  const verdict = request.verdict?.verdict;
  const last = turns?.at(-1);
  return (
    <>
      <PageHead
        title={input.length > TITLE ? `${input.slice(0, TITLE)}…` : input}
        crumbs={[<Link to="/requests">Requests</Link>, <span>{id}</span>]}
        marks={verdict?.intent !== undefined && <Mark tone="info">{verdict.intent}</Mark>}
        lead={
          <>
            {request.received.user} asked <Moment at={request.created_at} />
            {verdict?.intent_reason !== undefined && <>: {verdict.intent_reason}</>}.
          </>
        }
      />
      <div className="request">
        {input.length > TITLE && (
          <Section title="What was asked">
            <div className="prose">{input}</div>
          </Section>
        )}
        {answer === null ? (
          <Text role="status">It is being answered.</Text>
        ) : "content" in answer ? (
          <Answer request={request} answer={answer} isLast={last === undefined || last.request_id === id} />
        ) : (
          <Failed failure={answer} />
        )}
        {run !== null && <RunOfChange run={run} />}
        {result !== null && <Result result={result} />}
        <Section title="Next question" lead={session === undefined ? "It opens a session." : "It follows in the same session."}>
          <AskForm label="Question or request" session={session} />
          {turns !== undefined && turns.length > 1 && <Turns turns={turns} shown={id} />}
        </Section>
      </div>
    </>
  );
}

/** The status of a change's run, and what the run waits for. */
function RunOfChange({ run: id }: { run: string }) {
  const charter = useCharter();
  const query = useQuery({
    queryKey: ["runs", "one", id],
    queryFn: () => charter.get("/v1/runs/{id}", { params: { path: { id } } }),
  });
  return (
    <Loaded query={query}>
      {(run) => (
        <>
          <Text role="status">
            <Anchor underline="always" renderRoot={(props) => <Link to="/runs/$run" params={{ run: id }} {...props} />}>
              {run.title}
            </Anchor>{" "}
            <Mark tone={runTone(run.status)}>{inWords(run.status)}</Mark>
          </Text>
          <Asked run={run} />
        </>
      )}
    </Loaded>
  );
}

function Turns({ turns, shown }: { turns: SessionTurn[]; shown: string }) {
  return (
    <div className="below">
      <h3 className="part">This session</h3>
      <List type="ordered" size="sm" spacing={4}>
        {turns.map(({ request_id: request, input, at }) => (
          <List.Item key={request}>
            {request === shown ? (
              <span aria-current="page">{input}</span>
            ) : (
              <Anchor underline="always" renderRoot={(props) => <Link to="/requests/$request" params={{ request }} {...props} />}>
                {input}
              </Anchor>
            )}{" "}
            <Text span size="xs" c="dimmed">
              <Moment at={at} />
            </Text>
          </List.Item>
        ))}
      </List>
    </div>
  );
}
