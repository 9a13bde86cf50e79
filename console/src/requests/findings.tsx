/** The findings of an answer, and the sentences of a model that cite them. */

import type { CitedSentence, Finding } from "@charter/client";
import { Anchor, Button, List, Text } from "@mantine/core";
import { Link } from "@tanstack/react-router";
import { useState } from "react";

import { Mark } from "~/parts/mark";
import { Section } from "~/parts/section";
import { SEVERITIES } from "~/parts/severities";
import { EvidenceLink, EvidenceLinks, OutputLink, PassageLink } from "~/requests/cited";

/** Findings that are drawn at first; those that sentences cite are drawn besides. */
const FIRST = 50;

interface SentencesProps {
  request: string;
  sentences: CitedSentence[];
  findings: Finding[];
}

/** Sentences, each with links to its citations. */
export function Sentences({ request, sentences, findings }: SentencesProps) {
  const named = new Map(findings.map((finding) => [finding.finding_id, nameOf(finding)]));
  return (
    <List listStyleType="none" spacing="md" aria-label="Sentences of the analysis">
      {sentences.map(({ text, finding_ids = [], evidence_ids = [], outputs = [], passages = [] }, at) => (
        <List.Item key={at}>
          <Text>{text}</Text>
          <span className="citations">
            {finding_ids.map((id) => (
              <Anchor
                key={id}
                className="citation"
                data-tone="warn"
                renderRoot={(props) => <Link to="/requests/$request" params={{ request }} hash={id} {...props} />}
              >
                finding {named.get(id) ?? id}
              </Anchor>
            ))}
            {evidence_ids.map((id) => (
              <EvidenceLink key={id} id={id} />
            ))}
            {outputs.map((place) => (
              <OutputLink key={place} place={place} />
            ))}
            {passages.map((place) => (
              <PassageLink key={place} place={place} />
            ))}
          </span>
        </List.Item>
      ))}
    </List>
  );
}

interface FindingsProps {
  findings: Finding[];
  /** Ids of those that sentences cite. */
  cited: ReadonlySet<string>;
}

export function Findings({ findings, cited }: FindingsProps) {
  const [isWhole, setIsWhole] = useState(false);
  const shown = isWhole ? findings : findings.filter(({ finding_id }, at) => at < FIRST || cited.has(finding_id));
  return (
    <Section title={`Findings (${findings.length})`} lead="Most severe first, each with the evidence that proves it.">
      <List listStyleType="none" spacing="sm">
        {shown.map((finding) => (
          <List.Item key={finding.finding_id} id={finding.finding_id}>
            <Text>
              <Mark tone={SEVERITIES[finding.severity]}>{finding.severity}</Mark> {wordsOf(finding)}
            </Text>
            <EvidenceLinks ids={finding.evidence_ids ?? []} />
          </List.Item>
        ))}
      </List>
      {shown.length < findings.length && (
        <Button variant="default" size="compact-sm" mt="sm" onClick={() => setIsWhole(true)}>
          Show all {findings.length}
        </Button>
      )}
    </Section>
  );
}

function nameOf({ resource_type, resource_id }: Finding): string {
  return `${resource_type} ${resource_id}`;
}

/** A finding in words: as its template shows it, or by the name of its resource. */
function wordsOf(finding: Finding): string {
  const rendered = (finding.rendered ?? {}) as { summary?: unknown; title?: unknown };
  const words = [rendered.summary, rendered.title].find((part) => typeof part === "string");
  return words ?? nameOf(finding);
}
