/** Candidates with the parts of their scores. */

import type { RoutedCandidate, RoutedVerdict } from "@charter/client";
import { Table } from "@mantine/core";
import { Link } from "@tanstack/react-router";

import { Mark } from "~/parts/mark";

export function Candidates({ verdict }: { verdict: RoutedVerdict }) {
  const { candidates, dropped, thresholds } = verdict;
  const all = [...candidates, ...dropped];
  const best = candidates[0] ?? dropped[0];
  return (
    <div className="wide" tabIndex={0} role="region" aria-label="Candidates, to be scrolled sideways">
      <Table verticalSpacing={6}>
        <Table.Thead>
          <Table.Tr>
            <Table.Th>Candidate</Table.Th>
            <Table.Th>Layer</Table.Th>
            <Table.Th w={230}>Score</Table.Th>
            <Table.Th ta="right">Fused</Table.Th>
            <Table.Th ta="right">Behind the best</Table.Th>
            <Table.Th ta="right">Words</Table.Th>
            <Table.Th ta="right">Coverage</Table.Th>
            <Table.Th ta="right">Meaning</Table.Th>
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody>
          {all.map((candidate, at) => (
            <Row
              key={`${candidate.kind} ${candidate.id}`}
              candidate={candidate}
              behind={(best?.fused ?? 0) - candidate.fused}
              isDropped={at >= candidates.length}
              thresholds={thresholds}
            />
          ))}
        </Table.Tbody>
      </Table>
    </div>
  );
}

interface RowProps {
  candidate: RoutedCandidate;
  behind: number;
  isDropped: boolean;
  thresholds: RoutedVerdict["thresholds"];
}

function Row({ candidate, behind, isDropped, thresholds }: RowProps) {
  const { kind, id, scope, score, fused, lexical, coverage, cosine } = candidate;
  return (
    <Table.Tr data-dropped={isDropped}>
      <Table.Td>
        <Link to="/catalogue/$kind/$id" params={{ kind, id }} className="mono">
          {id}
        </Link>{" "}
        <Mark tone={kind === "playbook" ? "warn" : "calm"}>{kind}</Mark>{" "}
        {isDropped && <Mark>below the floor</Mark>}
      </Table.Td>
      <Table.Td>{scope}</Table.Td>
      <Table.Td>
        <span className="score">
          <span className="score-bar" aria-hidden>
            <span className="score-fill" data-dropped={isDropped} style={{ width: `${score * 100}%` }} />
            <span className="score-turn" style={{ left: `${thresholds.floor * 100}%` }} />
            <span className="score-turn" style={{ left: `${thresholds.narrow * 100}%` }} />
          </span>
          <span className="number">{score.toFixed(3)}</span>
        </span>
      </Table.Td>
      <Table.Td className="number">{fused.toFixed(3)}</Table.Td>
      <Table.Td className="number">{behind <= 0 ? "–" : behind.toFixed(3)}</Table.Td>
      <Table.Td className="number">{lexical.toFixed(2)}</Table.Td>
      <Table.Td className="number">{coverage === null ? "–" : coverage.toFixed(3)}</Table.Td>
      <Table.Td className="number">{cosine === null ? "–" : cosine.toFixed(3)}</Table.Td>
    </Table.Tr>
  );
}
