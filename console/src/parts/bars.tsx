/** Counts of some days as bars. The same numbers are in a table for screen readers. */

import type { DayCount } from "~/parts/by-day";

interface Props {
  /** The entries that are counted. */
  label: string;
  days: DayCount[];
  /** The entries that the lower, red part of a bar counts. */
  bad: string;
}

const spelled = new Intl.DateTimeFormat("en-GB", { weekday: "short", day: "numeric" });

/** Height of the highest bar, in pixels. */
const HIGHEST = 72;

export function Bars({ label, days, bad }: Props) {
  const most = Math.max(1, ...days.map(({ total }) => total));
  const height = (count: number) => (count === 0 ? 0 : Math.max(2, Math.round((count / most) * HIGHEST)));
  return (
    <figure className="bars">
      <figcaption>{label}</figcaption>
      <div className="bars-days" aria-hidden>
        {days.map(({ day, total, bad: wrong }) => (
          <div key={day} className="bars-day" title={`${nameOf(day)}: ${total}, ${wrong} ${bad}`}>
            <span className="bars-count">{total}</span>
            <span className="bar" style={{ height: height(total) }}>
              <span className="bar-bad" style={{ height: total === 0 ? 0 : `${(100 * wrong) / total}%` }} />
            </span>
            <span className="bars-name">{nameOf(day)}</span>
          </div>
        ))}
      </div>
      <table className="unseen">
        <caption>{label}</caption>
        <thead>
          <tr>
            <th>Day</th>
            <th>All</th>
            <th>{bad}</th>
          </tr>
        </thead>
        <tbody>
          {days.map(({ day, total, bad: wrong }) => (
            <tr key={day}>
              <th>{nameOf(day)}</th>
              <td>{total}</td>
              <td>{wrong}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </figure>
  );
}

function nameOf(day: string): string {
  return spelled.format(new Date(`${day}T12:00:00`));
}
