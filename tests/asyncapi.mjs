// Parses the description of the stream with @asyncapi/parser; node asyncapi.mjs FILE
import { readFileSync } from "node:fs";
import { Parser } from "@asyncapi/parser";

const { document, diagnostics } = await new Parser().parse(readFileSync(process.argv[2], "utf8"));
// Severity 0 is an error; a hint that there is a newer version of the format is none.
const errors = diagnostics.filter(({ severity }) => severity === 0);
for (const { path, message } of errors) console.error(`${path.join(".")}: ${message}`);
if (!document || errors.length > 0) process.exit(1);
console.log(`${document.channels().all().length} channels, ${document.messages().all().length} messages`);
