/** Names and values of one thing. */

import type { ReactNode } from "react";

/** Rows without a value are left out. */
export function Facts({ rows }: { rows: [name: string, value: ReactNode][] }) {
  const present = rows.filter(([, value]) => value !== undefined && value !== null && value !== "" && value !== false);
  return (
    <dl className="facts">
      {present.map(([name, value]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  );
}
