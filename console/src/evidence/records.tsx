/** The evidence of the tenant, by time of capture, and filters over it. */

import type { EvidenceEntry } from "@charter/client";
import { Button, NativeSelect, TextInput } from "@mantine/core";
import { useDebouncedCallback } from "@mantine/hooks";
import { getRouteApi, Link } from "@tanstack/react-router";
import { useEffect, useState } from "react";

import { TYPES } from "~/evidence/types";
import { DayFields, type Days, momentsOf, WiderDays } from "~/parts/days";
import { EmptyState } from "~/parts/empty-state";
import type { Column } from "~/parts/listing";
import { Mark } from "~/parts/mark";
import { PageHead } from "~/parts/page-head";
import { Paged, SoFar } from "~/parts/paged";
import { usePages } from "~/parts/pages";
import { SearchField } from "~/parts/search-field";
import { inWords } from "~/runs/words";
import { useCharter } from "~/session/session";

/** Records of one page. */
const PAGE = 500;

/** How long typing has to rest, in milliseconds. */
const REST_MS = 300;

const route = getRouteApi("/evidence");

type Filters = ReturnType<typeof route.useSearch>;

export function Records() {
  const charter = useCharter();
  const search = route.useSearch();
  const navigate = route.useNavigate();
  const pages = usePages<EvidenceEntry>(["evidence", "list", search], (after) =>
    charter.get("/v1/evidence", {
      params: { query: { ...asked(search), limit: PAGE, ...(after === undefined ? {} : { after }) } },
    }),
  );
  const change = (to: Partial<Filters>) => void navigate({ search: (now) => ({ ...now, ...to }), replace: true });
  const isFiltered = Object.values(search).some((value) => value !== undefined);
  return (
    <>
      <PageHead
        title="Evidence"
        lead="What tools answered, as they answered it: signed, never changed, each with a link to where a person can see the original. By time of capture, oldest first."
      />
      <div className="toolbar">
        <SearchField
          label="Run or finding"
          placeholder="Run or finding: run-… or an id"
          value={search.of ?? ""}
          onChange={(of) => change({ of: of.trim() || undefined })}
        />
        <NativeSelect
          aria-label="Type"
          value={search.type ?? ""}
          data={[{ value: "", label: "Any type" }, ...TYPES.map((type) => ({ value: type, label: inWords(type) }))]}
          onChange={(event) => change({ type: event.currentTarget.value || undefined })}
        />
        <Typed label="Source" placeholder="Source: aws.ec2" value={search.system} onChange={(system) => change({ system })} />
        <DayFields what="Captured" days={search} onChange={change} />
        {isFiltered && (
          <Button
            variant="default"
            size="compact-md"
            onClick={() => change({ of: undefined, type: undefined, system: undefined, from: undefined, until: undefined })}
          >
            Clear
          </Button>
        )}
        <SoFar pages={pages} one="record" many="records" />
      </div>
      <Paged
        pages={pages}
        label="Evidence"
        columns={COLUMNS}
        rowKey={({ id }) => id}
        empty={<NoRecords isFiltered={isFiltered} days={search} onChange={change} />}
      />
    </>
  );
}

/** What the server is asked for. */
function asked({ of, type, system, ...days }: Filters) {
  const { from, until } = momentsOf(days);
  return {
    ...(of === undefined ? {} : of.startsWith("run-") ? { run_id: of } : { finding_id: of }),
    ...(type === undefined ? {} : { type }),
    ...(system === undefined ? {} : { system }),
    ...(from === undefined ? {} : { captured_from: from }),
    ...(until === undefined ? {} : { captured_until: until }),
  };
}

interface FieldProps {
  label: string;
  value: string | undefined;
  onChange: (text: string | undefined) => void;
  placeholder?: string;
}

function Typed({ label, value, onChange, placeholder }: FieldProps) {
  const [text, setText] = useState(value ?? "");
  const tell = useDebouncedCallback(onChange, REST_MS);
  useEffect(() => setText(value ?? ""), [value]);
  return (
    <TextInput
      aria-label={label}
      placeholder={placeholder}
      value={text}
      w={150}
      onChange={(event) => {
        setText(event.currentTarget.value);
        tell(event.currentTarget.value.trim() || undefined);
      }}
    />
  );
}

function NoRecords({ isFiltered, days, onChange }: { isFiltered: boolean; days: Days; onChange: (to: Days) => void }) {
  if (isFiltered) {
    return (
      <EmptyState title="No record fits">
        Take a filter away, or choose another one.
        <WiderDays what="Captured" days={days} onChange={onChange} />
      </EmptyState>
    );
  }
  return (
    <EmptyState title="No evidence yet" command='charter ask "are any buckets public?" -p region=eu-west-1'>
      A call of a tool that declares evidence leaves a record of what it answered. Records are in a log whose head is
      signed: every reader can verify that nothing was changed, removed or reordered.
    </EmptyState>
  );
}

const captured = new Intl.DateTimeFormat("en-GB", { dateStyle: "medium", timeStyle: "medium" });

const COLUMNS: Column<EvidenceEntry>[] = [
  {
    name: "Shows",
    width: "minmax(20rem, 3fr)",
    cell: ({ id, summary }) => (
      <Link to="/evidence/$id" params={{ id }} className="row-link" title={summary}>
        {summary}
      </Link>
    ),
  },
  { name: "Type", width: "10rem", cell: ({ type }) => <Mark>{inWords(type)}</Mark> },
  { name: "Source", width: "8rem", cell: ({ source }) => <span className="mono">{source.system}</span> },
  {
    name: "Subject",
    width: "minmax(12rem, 1.6fr)",
    cell: ({ source }) => (
      <span className="mono quiet" title={source.native_id}>
        {source.native_id}
      </span>
    ),
  },
  {
    name: "Captured",
    width: "12rem",
    cell: ({ captured_at: at }) => <time dateTime={at}>{captured.format(new Date(at))}</time>,
  },
];
