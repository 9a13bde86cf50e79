/** Links to the sources of an answer: evidence and passages. */

import { Anchor } from "@mantine/core";
import { Link } from "@tanstack/react-router";

/** The place of a passage, as an analysis cites it: `title (lens_id, passage 3)`. */
const PASSAGE = /\(([A-Za-z0-9._-]+), passage \d+\)$/;

export function EvidenceLink({ id }: { id: string }) {
  return (
    <Anchor className="citation" data-tone="good" renderRoot={(props) => <Link to="/evidence/$id" params={{ id }} {...props} />}>
      evidence {id}
    </Anchor>
  );
}

/** Records of evidence, where there are any. */
export function EvidenceLinks({ ids }: { ids: readonly string[] }) {
  if (ids.length === 0) return null;
  return (
    <span className="citations">
      {ids.map((id) => (
        <EvidenceLink key={id} id={id} />
      ))}
    </span>
  );
}

/** A result without evidence, as `run/step`. */
export function OutputLink({ place }: { place: string }) {
  const [run = "", step = ""] = place.split("/");
  return (
    <Anchor
      className="citation"
      data-tone="calm"
      renderRoot={(props) => <Link to="/runs/$run" params={{ run }} search={{ step }} {...props} />}
    >
      output of {step}
    </Anchor>
  );
}

export function PassageLink({ place }: { place: string }) {
  const lens = PASSAGE.exec(place)?.[1];
  if (lens === undefined) {
    return (
      <span className="citation" data-tone="calm">
        {place}
      </span>
    );
  }
  return (
    <Anchor className="citation" data-tone="info" renderRoot={(props) => <Link to="/lenses/$id" params={{ id: lens }} {...props} />}>
      {place}
    </Anchor>
  );
}
