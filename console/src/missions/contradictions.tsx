/** Where sources of a mission disagree: side by side what each says of it, and what that rests on. */

import type { components } from "@charter/client";
import { Text } from "@mantine/core";

import { Citations, type Cited } from "~/missions/citations";
import { Mark } from "~/parts/mark";
import { Section } from "~/parts/section";

type WorkerResult = components["schemas"]["worker_result"];

/** A contradiction, as it was brought together. */
export interface Contradiction {
  description: string;
  refs: string[];
}

/** One source: a worker's result, what it says of the thing in dispute, and the calls that it cites. */
interface Source {
  result: string;
  task: string;
  says: string[];
  refs: string[];
}

export function Contradictions({ contradictions, cited }: { contradictions: Contradiction[]; cited: Cited }) {
  return (
    <Section
      title="Contradictions"
      lead="The sources disagree. Each is shown with its evidence."
      actions={<Mark tone="warn">{contradictions.length}</Mark>}
    >
      {contradictions.map((contradiction) => (
        <Disputed key={contradiction.description} contradiction={contradiction} cited={cited} />
      ))}
    </Section>
  );
}

function Disputed({ contradiction: { description, refs }, cited }: { contradiction: Contradiction; cited: Cited }) {
  const sources = sourcesOf(description, refs, cited);
  const rest = refs.filter((ref) => !sources.some((source) => source.refs.includes(ref)));
  return (
    <article className="dispute" aria-label={description}>
      <Text size="sm" fw={600}>
        {description}
      </Text>
      {sources.length > 0 && (
        <div className="dispute-sources">
          {sources.map(({ result, task, says, refs: own }) => (
            <div key={result} className="dispute-source" role="group" aria-label={`What ${task} says`}>
              <Text size="xs" c="dimmed">
                {task}
              </Text>
              {says.map((line) => (
                <Text key={line} size="sm">
                  {line}
                </Text>
              ))}
              <Citations refs={own} cited={cited} />
            </div>
          ))}
        </div>
      )}
      <Citations refs={rest} cited={cited} />
    </article>
  );
}

/** The workers' results among what a contradiction cites, each with the calls of its own task. */
function sourcesOf(description: string, refs: string[], cited: Cited): Source[] {
  return refs.flatMap((ref): Source[] => {
    const shown = cited.artifacts.get(ref);
    if (shown?.kind !== "worker_result") return [];
    const { task_id: task, output_text: text } = shown.artifact as unknown as WorkerResult;
    const own = refs.filter((other) => other === ref || other.startsWith(`call.${task}.`));
    return [{ result: ref, task, says: linesOn(thingOf(description), text), refs: own }];
  });
}

/** The text before the colon names the subject of a dispute; lines of a result begin with their subject. */
function thingOf(description: string): string {
  return description.split(": ")[0] ?? description;
}

/** What lines say of a thing, without repeating which. */
function linesOn(thing: string, text: string): string[] {
  const lines = text.split("\n").filter((line) => line.startsWith(thing));
  return lines.map((line) => line.slice(thing.length).replace(/^[\s,:]+/, ""));
}

/** Contradictions once each: the reviewed output repeats those that were brought together, some as their words alone. */
export function contradictionsOf(all: (string | { description: string; refs?: string[] })[]): Contradiction[] {
  const found = new Map<string, Contradiction>();
  for (const one of all) {
    const { description, refs = [] } = typeof one === "string" ? { description: one } : one;
    const known = found.get(description)?.refs ?? [];
    found.set(description, { description, refs: known.length > 0 ? known : refs });
  }
  return [...found.values()];
}
