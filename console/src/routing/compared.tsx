/** Changes to a query before it was compared, and its clauses, in the words of `charter route`. */

import type { RoutedCandidate, RoutedVerdict } from "@charter/client";
import { List } from "@mantine/core";
import { Link } from "@tanstack/react-router";
import { Fragment, type ReactNode } from "react";

import { Facts } from "~/parts/facts";
import { Section } from "~/parts/section";

/** Renders nothing for a query that was compared unchanged and as a whole. */
export function Compared({ verdict }: { verdict: RoutedVerdict }) {
  const { corrections = [], set_aside: aside = [], clauses = [] } = verdict;
  if (corrections.length + aside.length + clauses.length === 0) return null;
  const corrected = corrections.map(({ typed, corrected: word }) => (
    <>
      <span className="mono">{typed}</span> is taken for <span className="mono">{word}</span>
    </>
  ));
  const asked = clauses.map(({ text, candidates }) => (
    <>
      asks for: {text} → <Best candidates={candidates} />
    </>
  ));
  return (
    <Section title="Query as compared" lead="Changes before the comparison, and each clause with its best candidates.">
      <Facts
        rows={[
          row("Corrections", corrected),
          row("Set aside", aside.map((piece) => `counts little: ${piece}`)),
          row("Clauses", asked),
        ]}
      />
    </Section>
  );
}

/** A row with a list; its value is absent where the list is empty. */
function row(name: string, lines: ReactNode[]): [name: string, value: ReactNode] {
  if (lines.length === 0) return [name, undefined];
  return [
    name,
    <List listStyleType="none" spacing={4} aria-label={name}>
      {lines.map((line, at) => (
        <List.Item key={at}>{line}</List.Item>
      ))}
    </List>,
  ];
}

/** The candidates of a clause with their scores, best first. */
function Best({ candidates }: { candidates: RoutedCandidate[] }) {
  if (candidates.length === 0) return "no candidate";
  return candidates.map(({ kind, id, score }, at) => (
    <Fragment key={`${kind} ${id}`}>
      {at > 0 && ", "}
      <Link to="/catalogue/$kind/$id" params={{ kind, id }} className="mono">
        {id}
      </Link>{" "}
      {score.toFixed(3)}
    </Fragment>
  ));
}
