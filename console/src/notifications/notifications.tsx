/** Notifications: the channels, and what was sent to them, waits or failed. For admins. */

import type { NotificationSummary } from "@charter/client";
import { NativeSelect } from "@mantine/core";
import { getRouteApi } from "@tanstack/react-router";

import { Channels, useChannels } from "~/notifications/channels";
import { isPending, STATE_TONES, STATES } from "~/notifications/words";
import { EmptyState } from "~/parts/empty-state";
import type { Column } from "~/parts/listing";
import { Mark } from "~/parts/mark";
import { Moment } from "~/parts/moment";
import { PageHead } from "~/parts/page-head";
import { Paged, SoFar } from "~/parts/paged";
import { usePages } from "~/parts/pages";
import { useCharter } from "~/session/session";

/** Notifications of one page. */
const PAGE = 200;

const route = getRouteApi("/notifications");

type Filters = ReturnType<typeof route.useSearch>;

export function Notifications() {
  const charter = useCharter();
  const { state, channel } = route.useSearch();
  const navigate = route.useNavigate();
  const channels = useChannels().data ?? [];
  const pages = usePages<NotificationSummary>(
    ["notifications", "list", state, channel],
    (after) =>
      charter.get("/v1/notifications", {
        params: {
          query: {
            limit: PAGE,
            ...(state === undefined ? {} : { state }),
            ...(channel === undefined ? {} : { channel }),
            ...(after === undefined ? {} : { after }),
          },
        },
      }),
    isPending,
  );
  const change = (to: Partial<Filters>) => void navigate({ search: (now) => ({ ...now, ...to }), replace: true });
  const names = [...new Set([...channels.map((one) => one.channel), ...(channel === undefined ? [] : [channel])])];
  return (
    <>
      <PageHead title="Notifications" lead="Messages to people: approvals that wait, failed runs, new findings. Newest first." />
      <Channels />
      <div className="toolbar">
        <NativeSelect
          aria-label="State"
          value={state ?? ""}
          data={[{ value: "", label: "Any state" }, ...STATES.map((value) => ({ value, label: value }))]}
          onChange={(event) => change({ state: (event.currentTarget.value || undefined) as Filters["state"] })}
        />
        <NativeSelect
          aria-label="Channel"
          value={channel ?? ""}
          data={[{ value: "", label: "Any channel" }, ...names.map((value) => ({ value, label: value }))]}
          onChange={(event) => change({ channel: event.currentTarget.value || undefined })}
        />
        <SoFar pages={pages} one="notification" many="notifications" />
      </div>
      <Paged
        pages={pages}
        label="Notifications"
        columns={COLUMNS}
        rowKey={({ notification_id }) => notification_id}
        empty={
          state !== undefined || channel !== undefined ? (
            <EmptyState title="No notification fits">Choose another state or channel above.</EmptyState>
          ) : (
            <EmptyState title="No notifications yet">
              An event that a rule sends to a channel is listed here with its state, and the last failure if the channel did
              not accept it.
            </EmptyState>
          )
        }
      />
    </>
  );
}

const COLUMNS: Column<NotificationSummary>[] = [
  { name: "Topic", width: "minmax(13rem, 1.2fr)", cell: ({ topic }) => topic },
  { name: "Channel", width: "minmax(7rem, 1fr)", cell: ({ channel }) => <span className="mono">{channel}</span> },
  { name: "State", width: "7rem", cell: ({ state }) => <Mark tone={STATE_TONES[state]}>{state}</Mark> },
  { name: "Event", width: "8rem", cell: ({ created_at: at }) => <Moment at={at} /> },
  {
    name: "Sent or due",
    width: "8rem",
    cell: ({ settled_at: settled, due_at: due }) => {
      const at = settled ?? due;
      return at !== undefined && <Moment at={at} />;
    },
  },
  { name: "Attempts", width: "5rem", align: "end", cell: ({ attempts }) => attempts },
  {
    name: "Detail",
    width: "minmax(14rem, 2fr)",
    cell: ({ detail }) => detail !== undefined && <span title={detail}>{detail}</span>,
  },
];
