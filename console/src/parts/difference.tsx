/** Two texts line by line: what went, what came, and a little of what stayed around it. */

import { diffLines } from "diff";
import { useMemo } from "react";

/** Lines that are shown around a change. */
const AROUND = 3;

interface Props {
  before: string;
  after: string;
  /** What is compared, for screen readers. */
  label: string;
}

interface Line {
  sign: "+" | "-" | " ";
  text: string;
}

export function Difference({ before, after, label }: Props) {
  const lines = useMemo(() => folded(compared(before, after)), [before, after]);
  return (
    <pre className="difference" tabIndex={0} aria-label={label}>
      <code>
        {lines.map((line, at) =>
          line === undefined ? (
            <span key={at} className="line" data-sign="…">
              {"⋯\n"}
            </span>
          ) : (
            <span key={at} className="line" data-sign={line.sign}>
              {`${line.sign} ${line.text}\n`}
            </span>
          ),
        )}
      </code>
    </pre>
  );
}

/** Two values as indented JSON, line by line. */
export function JsonDifference({ before, after, label }: { before: unknown; after: unknown; label: string }) {
  return <Difference before={json(before)} after={json(after)} label={label} />;
}

function json(value: unknown): string {
  return value === null || value === undefined ? "" : `${JSON.stringify(value, null, 2)}\n`;
}

function compared(before: string, after: string): Line[] {
  return diffLines(before, after).flatMap(({ added, removed, value }) => {
    const sign = added ? "+" : removed ? "-" : " ";
    return value
      .replace(/\n$/, "")
      .split("\n")
      .map((text): Line => ({ sign, text }));
  });
}

/** Leaves out what stayed, but for a few lines; `undefined` marks a gap. */
function folded(lines: Line[]): (Line | undefined)[] {
  const changed = lines.flatMap(({ sign }, at) => (sign === " " ? [] : [at]));
  const kept = new Set(
    changed.flatMap((at) => Array.from({ length: 2 * AROUND + 1 }, (_, step) => at - AROUND + step)),
  );
  const shown: (Line | undefined)[] = [];
  lines.forEach((line, at) => {
    if (kept.has(at)) shown.push(line);
    else if (shown.length === 0 || shown.at(-1) !== undefined) shown.push(undefined);
  });
  return changed.length === 0 ? lines : shown;
}
