/**
 * A table of any length: only the rows in view are drawn, and further pages are read when the end comes
 * near. A row leads where its first cell's link leads.
 */

import { useVirtualizer } from "@tanstack/react-virtual";
import { type CSSProperties, type ReactNode, useEffect, useRef } from "react";

/** One column. */
export interface Column<Row> {
  name: string;
  /** A track of a CSS grid, e.g. `minmax(12rem, 2fr)`. */
  width: string;
  /** Numbers are aligned at the end. */
  align?: "start" | "end";
  cell: (row: Row) => ReactNode;
}

export interface ListingProps<Row> {
  /** What is listed, for screen readers. */
  label: string;
  columns: Column<Row>[];
  rows: Row[];
  rowKey: (row: Row) => string;
  /** Reads the next page; absent where all is there. */
  onMore?: (() => void) | undefined;
  isReading?: boolean;
  /** Height of a row in pixels. */
  rowHeight?: number;
  /** Rows in view when the list does not fill the screen. */
  className?: string;
}

/** Rows that are drawn beyond those in view. */
const OVERSCAN = 12;

/** How many rows before the end the next page is read. */
const AHEAD = 30;

export function Listing<Row>(props: ListingProps<Row>) {
  const { label, columns, rows, rowKey, onMore, isReading = false, rowHeight = 38 } = props;
  const frame = useRef<HTMLDivElement>(null);
  const virtual = useVirtualizer({
    count: rows.length,
    getScrollElement: () => frame.current,
    estimateSize: () => rowHeight,
    overscan: OVERSCAN,
  });
  const items = virtual.getVirtualItems();
  const last = items.at(-1)?.index ?? 0;
  useEffect(() => {
    if (onMore !== undefined && !isReading && last >= rows.length - AHEAD) onMore();
  }, [last, rows.length, onMore, isReading]);
  const tracks: CSSProperties = { gridTemplateColumns: columns.map(({ width }) => width).join(" ") };

  return (
    <div
      role="table"
      aria-label={label}
      aria-rowcount={onMore === undefined ? rows.length + 1 : -1}
      aria-busy={isReading}
      className={`listing panel ${props.className ?? ""}`}
      ref={frame}
      tabIndex={0}
    >
      <div role="rowgroup" className="listing-head">
        <div role="row" aria-rowindex={1} className="listing-row" style={tracks}>
          {columns.map(({ name, align = "start" }) => (
            <div role="columnheader" key={name} data-align={align}>
              {name}
            </div>
          ))}
        </div>
      </div>
      <div role="rowgroup" className="listing-body" style={{ height: virtual.getTotalSize() }}>
        {items.map(({ index, start }) => {
          const row = rows[index];
          if (row === undefined) return null;
          return (
            <div
              role="row"
              aria-rowindex={index + 2}
              key={rowKey(row)}
              className="listing-row"
              style={{ ...tracks, height: rowHeight, transform: `translateY(${start}px)` }}
            >
              {columns.map(({ name, align = "start", cell }) => (
                <div role="cell" key={name} data-align={align}>
                  {cell(row)}
                </div>
              ))}
            </div>
          );
        })}
      </div>
    </div>
  );
}
