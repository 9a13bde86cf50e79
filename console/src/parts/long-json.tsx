/** A value as indented JSON of which the first lines are drawn, and all of it on demand: outputs of tools are large. */

import { Button } from "@mantine/core";
import { useMemo, useState } from "react";

import { Source } from "~/parts/source";

/** Lines that are drawn at first. */
const FIRST = 300;

/** Lines that are drawn at most: more would hold up the page. */
const MOST = 20_000;

export function LongJson({ value, label }: { value: unknown; label: string }) {
  const [isWhole, setIsWhole] = useState(false);
  const lines = useMemo(() => JSON.stringify(value, null, 2).split("\n"), [value]);
  const shown = isWhole ? MOST : FIRST;
  const rest = lines.length - shown;
  return (
    <>
      <Source text={lines.slice(0, shown).join("\n")} label={rest > 0 ? `${label} (the first ${shown} of ${lines.length} lines)` : label} />
      {rest > 0 && !isWhole && (
        <Button size="compact-sm" variant="default" mt="xs" onClick={() => setIsWhole(true)}>
          Show {lines.length > MOST ? `${MOST} lines` : `all ${lines.length} lines`}
        </Button>
      )}
    </>
  );
}
