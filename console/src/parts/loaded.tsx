/** Draws what a query read: a skeleton until it is there, the failure where it failed. */

import { Skeleton, Stack } from "@mantine/core";
import type { UseQueryResult } from "@tanstack/react-query";
import type { ReactNode } from "react";

import { Failure } from "~/parts/failure";

interface Props<Data> {
  query: UseQueryResult<Data>;
  children: (data: Data) => ReactNode;
}

export function Loaded<Data>({ query, children }: Props<Data>) {
  if (query.data !== undefined) return children(query.data);
  if (query.error !== null) return <Failure error={query.error} onRetry={() => void query.refetch()} />;
  return <Waiting />;
}

/** The shape of what is to come. */
export function Waiting() {
  return (
    <Stack gap="sm" aria-busy="true" aria-label="Loading" role="status" className="waiting">
      <Skeleton height={18} width="40%" />
      <Skeleton height={12} width="75%" />
      <Skeleton height={12} width="65%" />
      <Skeleton height={12} width="70%" />
    </Stack>
  );
}
