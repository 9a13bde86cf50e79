// How many mission envelopes ajv validates per second after JSON.parse, from
// bytes: the schema and the text of crates/contract/examples/envelope_bench.rs.
//
//     node target/envelope-peers/envelope_ajv.mjs schemas/mission_envelope.json \
//         crates/contract/tests/seeds/mission_envelope.json
//
// The Makefile copies it there, beside the packages that it imports.
//
// Prints one line of JSON: {"engine": …, "per_second": …, "parse_only_per_second": …}.

import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import Ajv2020 from "ajv/dist/2020.js";
import addFormats from "ajv-formats";

const ROUND_MS = 500;
const ROUNDS = 6;

const [schemaFile, envelopeFile] = process.argv.slice(2);
const schema = JSON.parse(readFileSync(schemaFile, "utf8"));
const bytes = readFileSync(envelopeFile);

// Both sides report every violation; the schema's own annotations are no keywords of ajv.
const ajv = new Ajv2020({ allErrors: true, strict: false });
addFormats(ajv);
const validate = ajv.compile(schema);

function check() {
  const value = JSON.parse(bytes.toString("utf8"));
  if (!validate(value)) throw new Error(ajv.errorsText(validate.errors));
  return value;
}

function refusesNonsense() {
  const value = JSON.parse(bytes.toString("utf8"));
  value.risk_level = "none";
  value.created_at = "yesterday";
  return !validate(value) && validate.errors.length === 2;
}

function best(work) {
  let rate = 0;
  let sink = 0;
  for (let round = 0; round < ROUNDS; round += 1) {
    const start = performance.now();
    let count = 0;
    while (performance.now() - start < ROUND_MS) {
      for (let i = 0; i < 1000; i += 1) sink += work() === undefined ? 1 : 0;
      count += 1000;
    }
    rate = Math.max(rate, (count * 1000) / (performance.now() - start));
  }
  if (sink > 0) throw new Error("nothing was parsed");
  return Math.round(rate);
}

if (!refusesNonsense()) throw new Error("the peer does not check enums and formats");
const version = createRequire(import.meta.url)("ajv/package.json").version;
console.log(
  JSON.stringify({
    engine: `ajv ${version}, node ${process.versions.node}`,
    per_second: best(check),
    parse_only_per_second: best(() => JSON.parse(bytes.toString("utf8"))),
  }),
);
