// The official TypeScript client of the Model Context Protocol, as the tests of
// crates/cli/tests/suite/mcp.rs use it. Takes one JSON object, as client.py does; writes one.
import { createInterface } from 'node:readline';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { Ajv2020 } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';

const given = JSON.parse(process.argv.at(-1));

function reach() {
  if (given.command) {
    const [command, ...args] = given.command;
    return new StdioClientTransport({ command, args, env: given.environment });
  }
  const headers = given.key ? { authorization: `Bearer ${given.key}` } : {};
  return new StreamableHTTPClientTransport(new URL(given.url), { requestInit: { headers } });
}

// The faults that a strict validator finds in the schemas of tools.
function schemaFaults(tools) {
  const faults = [];
  for (const tool of tools) {
    for (const schema of [tool.inputSchema, tool.outputSchema]) {
      const validator = new Ajv2020({ strict: true });
      addFormats.default(validator);
      try {
        validator.compile(schema);
      } catch (error) {
        faults.push(`${tool.name}: ${error.message}`);
      }
    }
  }
  return faults;
}

async function tour(client) {
  const told = [];
  const tools = await client.listTools();
  const found = await client.callTool({ name: 'find', arguments: { query: given.question } });
  const run = await client.callTool(
    { name: 'run', arguments: { question: given.question } },
    undefined,
    { onprogress: (progress) => told.push(progress.message) },
  );
  const evidence = run.structuredContent.evidence[0];
  const read = await client.readResource({ uri: evidence });
  const prompts = await client.listPrompts();
  return {
    version: client.transport.protocolVersion ?? null,
    server: client.getServerVersion().name,
    tools: tools.tools.map((tool) => tool.name),
    schema_faults: schemaFaults(tools.tools),
    found: found.structuredContent,
    run: run.structuredContent,
    told,
    evidence,
    read: JSON.parse(read.contents[0].text),
    prompts: prompts.prompts.map((prompt) => prompt.name),
  };
}

// Tool calls, one after the other.
async function steps(client) {
  // From here on the client checks structured content against the tool's output schema.
  await client.listTools();
  const saw = [];
  for (const step of given.steps) {
    const called = await client.callTool({ name: step.tool, arguments: step.arguments });
    const structured = called.structuredContent;
    if (!called.isError) saw.push({ is_error: false, content: structured });
    // The schema has no place for an error.
    else if (structured !== undefined) throw new Error(`structured: ${JSON.stringify(called)}`);
    else saw.push({ is_error: true, content: JSON.parse(called.content[0].text) });
  }
  return { steps: saw };
}

async function cancel(client) {
  const lines = createInterface({ input: process.stdin })[Symbol.asyncIterator]();
  const controller = new AbortController();
  const calling = client.callTool({ name: given.tool, arguments: given.arguments }, undefined, {
    signal: controller.signal,
  });
  const ended = calling.then(() => 'answered', () => 'cancelled');
  while ((await lines.next()).value !== 'begun');
  controller.abort('the test gives it up');
  const how = await ended;
  const tools = await client.listTools();
  process.stdin.destroy();
  return { how, tools: tools.tools.length };
}

const client = new Client({ name: 'charter-tests', version: '1.0.0' });
await client.connect(reach());
const saw = await { tour, steps, cancel }[given.do](client);
await client.close();
console.log(JSON.stringify(saw));
