/** The answer to a request: sentences with their citations, the text, findings, offers, a question back, and values. */

import { CharterError, type RequestFailure, type RequestShown, type ResponseMetadata, type ResponseShown } from "@charter/client";
import { Alert, Anchor, List, Spoiler, Text } from "@mantine/core";
import { Link } from "@tanstack/react-router";

import { Failure } from "~/parts/failure";
import { Section } from "~/parts/section";
import { EvidenceLinks } from "~/requests/cited";
import { Clarify } from "~/requests/clarification";
import { Findings, Sentences } from "~/requests/findings";
import { Offers } from "~/requests/offers";
import { Values } from "~/runs/values";

/** How much of a text is shown that sentences were taken out of, in pixels. */
const TEXT_HEIGHT = 160;

interface Props {
  request: RequestShown;
  answer: ResponseShown;
  /** Whether nothing was asked in the session since. */
  isLast: boolean;
}

export function Answer({ request, answer, isLast }: Props) {
  const metadata: ResponseMetadata = answer.metadata ?? {};
  const { input, session_id: session } = request.received.request;
  const { clarification, offers = [], findings = [], sentences = [], parameters = [] } = metadata;
  const cited = new Set(sentences.flatMap(({ finding_ids = [] }) => finding_ids));
  return (
    <>
      <Warnings warnings={metadata.warnings ?? []} />
      {clarification !== undefined ? (
        <Clarify clarification={clarification} input={input} session={session} isLast={isLast} />
      ) : (
        <Section title="Answer">
          {sentences.length === 0 ? (
            <div className="prose">{answer.content}</div>
          ) : (
            <>
              <Sentences request={request.request_id} sentences={sentences} findings={findings} />
              <Spoiler maxHeight={TEXT_HEIGHT} showLabel="Show the whole text" hideLabel="Show less of the text" mt="md">
                <div className="prose quiet">{answer.content}</div>
              </Spoiler>
            </>
          )}
          <Sources metadata={metadata} />
        </Section>
      )}
      {offers.length > 0 && <Offers offers={offers} input={input} session={session} />}
      {findings.length > 0 && <Findings findings={findings} cited={cited} />}
      {parameters.length > 0 && (
        <Section title="Values" lead="What was asked with, and where each value comes from.">
          <Values values={parameters} label="Values of the parameters" />
        </Section>
      )}
    </>
  );
}

/** A request that failed, with the values that were known. */
export function Failed({ failure }: { failure: RequestFailure }) {
  const given: NonNullable<RequestFailure["technical_details"]> = failure.technical_details ?? {};
  const { known = [], proposals = [], ...details } = given;
  const actions = failure.recommended_actions ?? [];
  const error = new CharterError({
    code: failure.error_code ?? failure.error_type,
    status: 0,
    message: failure.user_message,
    recommendations: actions.map(({ action_type: kind, description: text }) => ({ kind, text })),
    details,
    requestId: failure.request_id,
  });
  return (
    <>
      <Failure error={error} />
      {known.length > 0 && (
        <Section title="Values that are known">
          <Values values={known} label="Values that are known" />
        </Section>
      )}
      {proposals.length > 0 && (
        <Section title="Values that memories state" lead="None is used before you ask with it.">
          <List listStyleType="none" spacing="xs">
            {proposals.map(({ parameter, value, memory_id: id, title, words }) => (
              <List.Item key={`${parameter} ${id}`}>
                <span className="mono">
                  {parameter} = {JSON.stringify(value)}
                </span>
                : “{words}”, in the memory{" "}
                <Anchor underline="always" renderRoot={(props) => <Link to="/memory/$id" params={{ id }} {...props} />}>
                  {title}
                </Anchor>
              </List.Item>
            ))}
          </List>
        </Section>
      )}
    </>
  );
}

export function Warnings({ warnings }: { warnings: string[] }) {
  return warnings.map((warning) => (
    <Alert key={warning} variant="light" color="yellow" p="xs">
      {warning}
    </Alert>
  ));
}

/** Passages, nodes and documents that the answer quotes, and the runs and evidence of its calls. */
function Sources({ metadata }: { metadata: ResponseMetadata }) {
  const { passages = [], nodes = [], documents = [], evidence_ids = [], run_ids = [] } = metadata;
  if (passages.length + nodes.length + documents.length + evidence_ids.length + run_ids.length === 0) return null;
  return (
    <div className="below">
      <Text size="sm" fw={600}>
        Sources
      </Text>
      <span className="citations">
        {passages.map(({ lens_id: id, title, position, section }) => (
          <Anchor
            key={`${id} ${position.file ?? ""} ${position.start}`}
            className="citation"
            data-tone="info"
            renderRoot={(props) => <Link to="/lenses/$id" params={{ id }} {...props} />}
          >
            {[title, ...(section?.headings ?? position.headings ?? [])].join(" › ")}
          </Anchor>
        ))}
        {nodes.map(({ node_id: node }) => (
          <Anchor
            key={node}
            className="citation"
            data-tone="info"
            renderRoot={(props) => <Link to="/graph" search={{ node }} {...props} />}
          >
            node {node}
          </Anchor>
        ))}
        {documents.map(({ kind, id }) => (
          <Anchor
            key={`${kind} ${id}`}
            className="citation"
            data-tone="info"
            renderRoot={(props) => <Link to="/catalogue/$kind/$id" params={{ kind, id }} {...props} />}
          >
            {kind} {id}
          </Anchor>
        ))}
        {run_ids.map((run) => (
          <Anchor
            key={run}
            className="citation"
            data-tone="calm"
            renderRoot={(props) => <Link to="/runs/$run" params={{ run }} {...props} />}
          >
            {run}
          </Anchor>
        ))}
      </span>
      <EvidenceLinks ids={evidence_ids} />
    </div>
  );
}
