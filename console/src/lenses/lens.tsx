/** One lens: its source and index, and a search in it alone. */

import { Button } from "@mantine/core";
import { keepPreviousData, useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { getRouteApi, Link } from "@tanstack/react-router";

import { IndexState } from "~/lenses/index-state";
import { WHILE_INDEXING_MS } from "~/lenses/lenses";
import { Passages } from "~/lenses/passages";
import { Facts } from "~/parts/facts";
import { Failure } from "~/parts/failure";
import { Loaded } from "~/parts/loaded";
import { Mark } from "~/parts/mark";
import { Moment } from "~/parts/moment";
import { PageHead } from "~/parts/page-head";
import { SearchField } from "~/parts/search-field";
import { Section } from "~/parts/section";
import { useCharter } from "~/session/session";

const route = getRouteApi("/lenses/$id");

export function Lens() {
  const charter = useCharter();
  const queries = useQueryClient();
  const { id } = route.useParams();
  const { q } = route.useSearch();
  const navigate = route.useNavigate();
  const path = { params: { path: { id } } };
  const lens = useQuery({
    queryKey: ["lenses", "lens", id],
    queryFn: () => charter.get("/v1/lenses/{id}", path),
    refetchInterval: (query) => (query.state.data?.indexing != null ? WHILE_INDEXING_MS : false),
  });
  const reindex = useMutation({
    mutationFn: () => charter.post("/v1/lenses/{id}/reindex", path),
    onSuccess: () => queries.invalidateQueries({ queryKey: ["lenses"] }),
  });
  const answer = useQuery({
    queryKey: ["lenses", "search one", id, q],
    queryFn: () => charter.post("/v1/lenses/{id}/search", { ...path, body: { query: q ?? "", top_k: 10 } }),
    enabled: q !== undefined,
    placeholderData: keepPreviousData,
  });
  return (
    <Loaded query={lens}>
      {(found) => (
        <>
          <PageHead
            title={found.title}
            lead={found.description}
            crumbs={[<Link to="/lenses">Lenses</Link>, <span className="mono">{id}</span>]}
            marks={<IndexState lens={found} />}
            actions={
              <Button variant="default" size="xs" loading={reindex.isPending} onClick={() => reindex.mutate()}>
                Look at the source again
              </Button>
            }
          />
          {reindex.error !== null && <Failure error={reindex.error} />}
          <div className="sections lens-facts">
            <Section title="Source">
              <Facts
                rows={[
                  ["Domain", found.domain],
                  ["Content", String(found.content_type).replaceAll("_", " ")],
                  ["From", <span className="mono">{found.source.ref}</span>],
                  [
                    "Tags",
                    <span key="tags" className="marks">
                      {(found.tags ?? []).map((tag) => (
                        <Mark key={tag}>{tag}</Mark>
                      ))}
                    </span>,
                  ],
                  ["Layer", found.scope],
                ]}
              />
            </Section>
            <Section title="Index">
              {found.index === null ? (
                "There is no index yet."
              ) : (
                <Facts
                  rows={[
                    ["Passages", found.index.chunks],
                    ["Bytes of the source", found.index.bytes.toLocaleString("en")],
                    ["Embedding model", found.index.model ?? "none: words are compared"],
                    ["Looked at", <Moment at={found.index.fetched_at} />],
                    ["Indexed", <Moment at={found.index.indexed_at} />],
                    ["Last try", found.last !== null && "failed" in found.last ? found.last.failed : undefined],
                  ]}
                />
              )}
            </Section>
          </div>
          <div className="toolbar">
            <SearchField
              label="Ask this lens"
              value={q ?? ""}
              onChange={(text) => void navigate({ search: { q: text || undefined }, replace: true })}
            />
          </div>
          {q !== undefined && <Loaded query={answer}>{(said) => <Passages answer={said} />}</Loaded>}
        </>
      )}
    </Loaded>
  );
}
