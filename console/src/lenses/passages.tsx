/** Passages with their places. */

import type { LensAnswer, Passage } from "@charter/client";
import { Blockquote, Group, Text } from "@mantine/core";
import { Link } from "@tanstack/react-router";

import { EmptyState } from "~/parts/empty-state";

export function Passages({ answer }: { answer: LensAnswer }) {
  if (answer.passages.length === 0) {
    return (
      <EmptyState title="No passage comes close">
        {answer.lenses.length === 0
          ? "There is no lens to search."
          : `Searched: ${answer.lenses.join(", ")}. Ask in other words, or register a lens that knows.`}
      </EmptyState>
    );
  }
  return (
    <ol className="passages" aria-label="Passages, best first">
      {answer.passages.map((passage) => (
        <li key={`${passage.lens_id} ${passage.position.file ?? ""} ${passage.position.start}`}>
          <Quoted passage={passage} />
        </li>
      ))}
    </ol>
  );
}

function Quoted({ passage }: { passage: Passage }) {
  const { position, source } = passage;
  const place = [
    position.file ?? source.ref,
    position.page === undefined ? undefined : `page ${position.page}`,
    `characters ${position.start_char} to ${position.end_char}`,
  ].filter((part) => part !== undefined);
  return (
    <article className="panel passage">
      <Group justify="space-between" gap="sm" wrap="nowrap" align="baseline">
        <Text fw={600}>
          <Link to="/lenses/$id" params={{ id: passage.lens_id }}>
            {passage.title}
          </Link>
          {(position.headings ?? []).map((heading) => (
            <span key={heading} className="quiet">
              {" › "}
              {heading}
            </span>
          ))}
        </Text>
        <Text size="sm" c="dimmed" className="mono" title="The chance that it has to do with the question; comparable over questions.">
          {passage.score.toFixed(3)}
        </Text>
      </Group>
      <Blockquote className="passage-text" p="xs" my="xs">
        {passage.text}
      </Blockquote>
      <Text size="xs" c="dimmed">
        {place.join(" · ")} · <span title={passage.content_hash}>{passage.content_hash.slice(0, 19)}…</span>
      </Text>
    </article>
  );
}
