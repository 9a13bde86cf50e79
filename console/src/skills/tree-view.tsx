/** The tree by keyboard and mouse: arrows walk, open and close; Enter shows a skill. */

import { IconChevronRight, IconFileText, IconFolder, IconFolderOpen } from "@tabler/icons-react";
import { useVirtualizer } from "@tanstack/react-virtual";
import { type KeyboardEvent, memo, useCallback, useEffect, useRef, useState } from "react";

import type { TreeRow } from "~/skills/tree";

interface Props {
  rows: TreeRow[];
  selected: string | undefined;
  onSelect: (id: string) => void;
  onToggle: (path: string) => void;
  onMore: (() => void) | undefined;
}

const HEIGHT = 30;

export function TreeView({ rows, selected, onSelect, onToggle, onMore }: Props) {
  const frame = useRef<HTMLDivElement>(null);
  const [focused, setFocused] = useState(0);
  const virtual = useVirtualizer({
    count: rows.length,
    getScrollElement: () => frame.current,
    estimateSize: () => HEIGHT,
    overscan: 8,
  });
  const items = virtual.getVirtualItems();
  const last = items.at(-1)?.index ?? 0;
  useEffect(() => {
    if (last >= rows.length - 1) onMore?.();
  }, [last, rows.length, onMore]);

  // Where the keyboard is. A key may come before the row that the last one led to is drawn and has the focus.
  const reached = useRef(0);
  const reach = (index: number) => {
    reached.current = index;
    setFocused(index);
  };
  const focus = (index: number) => {
    const at = Math.max(0, Math.min(rows.length - 1, index));
    reach(at);
    virtual.scrollToIndex(at);
    const drawn = () => frame.current?.querySelector<HTMLElement>(`[data-row="${at}"]`);
    const row = drawn();
    if (row) row.focus();
    else requestAnimationFrame(() => reached.current === at && drawn()?.focus());
  };
  const press = (event: KeyboardEvent) => {
    const index = Math.min(reached.current, rows.length - 1);
    const row = rows[index];
    if (row === undefined) return;
    const steps: Record<string, () => void> = {
      ArrowDown: () => focus(index + 1),
      ArrowUp: () => focus(index - 1),
      Home: () => focus(0),
      End: () => focus(rows.length - 1),
      ArrowRight: () => (row.skill.is_folder && !row.isOpen ? onToggle(row.path) : focus(index + 1)),
      ArrowLeft: () => {
        if (row.isOpen) return onToggle(row.path);
        const parent = rows.slice(0, index).findLastIndex(({ level }) => level < row.level);
        if (parent >= 0) focus(parent);
      },
    };
    const step = steps[event.key];
    if (step === undefined) return;
    event.preventDefault();
    step();
  };

  const choose = ({ skill, path }: TreeRow) => {
    onSelect(skill.skill_id);
    if (skill.is_folder) onToggle(path);
  };
  // Rows are drawn again only when they change, whatever these have become meanwhile.
  const latest = useRef({ press, choose, reach });
  useEffect(() => {
    latest.current = { press, choose, reach };
  });
  const act = useCallback((): Acts => latest.current, []);

  return (
    <div className="tree panel" ref={frame} role="tree" aria-label="Agent skills">
      <div style={{ height: virtual.getTotalSize(), position: "relative" }} role="presentation">
        {items.map(({ index, start }) => {
          const row = rows[index];
          if (row === undefined) return null;
          return (
            <Row
              key={row.path}
              row={row}
              index={index}
              start={start}
              isSelected={row.skill.skill_id === selected}
              isReached={index === Math.min(focused, rows.length - 1)}
              act={act}
            />
          );
        })}
      </div>
    </div>
  );
}

/** What a row sets off. */
interface Acts {
  press: (event: KeyboardEvent) => void;
  choose: (row: TreeRow) => void;
  reach: (index: number) => void;
}

interface RowProps {
  row: TreeRow;
  index: number;
  start: number;
  isSelected: boolean;
  /** Whether the tabulator leads to it. */
  isReached: boolean;
  act: () => Acts;
}

const Row = memo(function Row({ row, index, start, isSelected, isReached, act }: RowProps) {
  const { skill, level, isOpen } = row;
  const Icon = skill.is_folder ? (isOpen ? IconFolderOpen : IconFolder) : IconFileText;
  return (
    <button
      type="button"
      role="treeitem"
      aria-level={level}
      aria-selected={isSelected}
      aria-expanded={skill.is_folder ? isOpen : undefined}
      data-row={index}
      tabIndex={isReached ? 0 : -1}
      className="tree-row"
      style={{ transform: `translateY(${start}px)`, height: HEIGHT, paddingLeft: `${level * 1.1 - 0.6}rem` }}
      title={skill.summary}
      onFocus={() => act().reach(index)}
      onKeyDown={(event) => act().press(event)}
      onClick={() => act().choose(row)}
    >
      <IconChevronRight
        size={14}
        className="tree-turn"
        data-open={isOpen}
        visibility={skill.is_folder ? "visible" : "hidden"}
      />
      <Icon size={16} stroke={1.6} />
      <span className="tree-label">{skill.skill_id}</span>
    </button>
  );
});
