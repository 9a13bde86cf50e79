/** The content of a step's output that is not JSON: pictures are shown, everything else can be saved. */

import { Anchor, Text } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";

import { useCharter } from "~/session/session";

/** Pictures that the server serves as such; it serves everything else as bytes. */
const PICTURES = ["image/avif", "image/bmp", "image/gif", "image/jpeg", "image/png", "image/webp"];

interface Reference {
  digest: string;
  mediaType: string;
}

/** The references in an output to stored content, each once. */
export function referencesOf(output: unknown): Reference[] {
  const listed = isObject(output) ? output["mcp_content"] : undefined;
  const blocks = Array.isArray(listed) ? listed : [];
  const found = new Map<string, Reference>();
  for (const block of blocks) {
    if (!isObject(block)) continue;
    const holder = isObject(block["resource"]) ? block["resource"] : block;
    const { digest, mimeType } = holder;
    if (typeof digest !== "string") continue;
    found.set(digest, { digest, mediaType: typeof mimeType === "string" ? mimeType.toLowerCase() : "" });
  }
  return [...found.values()];
}

export function StepContent({ run, output }: { run: string; output: unknown }) {
  const references = referencesOf(output);
  if (references.length === 0) return null;
  return (
    <>
      <Text fw={600} size="sm" mt="sm">
        Content
      </Text>
      {references.map((reference) => (
        <Content key={reference.digest} run={run} reference={reference} />
      ))}
    </>
  );
}

function Content({ run, reference: { digest, mediaType } }: { run: string; reference: Reference }) {
  const charter = useCharter();
  const path = `/v1/runs/${encodeURIComponent(run)}/contents/${digest}`;
  const query = useQuery({
    queryKey: ["content", run, digest],
    queryFn: async ({ signal }) => dataUrl(await (await charter.download(path, signal)).blob()),
    staleTime: Infinity,
    retry: false,
  });
  if (query.data === undefined) {
    return (
      <Text size="sm" c="dimmed">
        {query.isError ? "The content is no longer kept." : "Loading…"}
      </Text>
    );
  }
  const isPicture = PICTURES.includes(mediaType);
  return (
    <div className="below">
      {isPicture && <img src={query.data} alt={mediaType} style={{ maxWidth: "100%" }} />}
      <Anchor size="sm" href={query.data} download={digest.replace(":", "-")}>
        Save {mediaType === "" ? "the bytes" : mediaType}
      </Anchor>
    </div>
  );
}

/** The bytes as an address of their own: the page's policy allows pictures from such addresses. */
function dataUrl(blob: Blob): Promise<string> {
  return new Promise((resolve, reject) => {
    const reader = new FileReader();
    reader.onload = () => resolve(String(reader.result));
    reader.onerror = () => reject(reader.error ?? new Error("the content cannot be read"));
    reader.readAsDataURL(blob);
  });
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null;
}
