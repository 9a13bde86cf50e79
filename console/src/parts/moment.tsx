/** A moment: how long ago it was, and exactly when on demand. */

const UNITS: [unit: Intl.RelativeTimeFormatUnit, seconds: number][] = [
  ["year", 31_536_000],
  ["month", 2_592_000],
  ["day", 86_400],
  ["hour", 3_600],
  ["minute", 60],
];

const relative = new Intl.RelativeTimeFormat("en", { numeric: "auto" });
const exact = new Intl.DateTimeFormat("en-GB", { dateStyle: "medium", timeStyle: "medium" });

export function Moment({ at }: { at: string }) {
  const time = new Date(at);
  return (
    <time dateTime={at} title={`${exact.format(time)} (${at})`}>
      {distance(time.getTime())}
    </time>
  );
}

function distance(time: number): string {
  const seconds = Math.round((time - Date.now()) / 1_000);
  for (const [unit, length] of UNITS) {
    if (Math.abs(seconds) >= length) return relative.format(Math.round(seconds / length), unit);
  }
  return seconds > 0 ? "in a moment" : "just now";
}
