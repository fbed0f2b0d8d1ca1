// Replays our gzip volumes with wabac, the reader of ReplayWeb.page, without a browser.
//
//     node tools/wabac_replay.mjs SENT FOLDER
//
// SENT is JSON: for each URL the bodies that the server meant at its visits, in their order. Every capture is asked
// for at its own moment, and every URL without a date. wabac takes one file, so the volumes are given as one. Exit
// code 0: all is well; 1: what differs is printed. Needs the packages that tools/node.sh installs.

import fs from "node:fs";
import http from "node:http";
import path from "node:path";
import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";

const here = path.dirname(new URL(import.meta.url).pathname);
const require = createRequire(path.join(here, "../.node/package.json"));
await import(pathToFileURL(require.resolve("fake-indexeddb/auto")).href);
globalThis.self ??= globalThis;
globalThis.location ??= new URL("http://127.0.0.1/");
const wabac = await import(
  pathToFileURL(path.join(here, "../.node/node_modules/@webrecorder/wabac/dist/swlib.js")).href
);

const [sentFile, folder] = process.argv.slice(2);
const sent = JSON.parse(fs.readFileSync(sentFile, "utf8"));
const names = fs.readdirSync(folder).filter((name) => name.endsWith(".warc.gz")).sort();
const volumes = Buffer.concat(names.map((name) => fs.readFileSync(path.join(folder, name))));

const server = http.createServer((request, response) => {
  response.writeHead(200, { "content-length": volumes.length });
  response.end(request.method === "HEAD" ? undefined : volumes);
});
await new Promise((listening) => server.listen(0, "127.0.0.1", listening));
const log = console.log;
console.log = () => {};
const loader = new wabac.WorkerLoader({ addEventListener() {} });
const problems = [];
const collection = await loader.addCollection(
  { name: "it", file: { sourceUrl: `http://127.0.0.1:${server.address().port}/all.warc.gz` } },
  (_, error) => error && problems.push(error),
);
if (!collection) {
  log(`wabac could not load the volumes: ${problems}`);
  process.exit(1);
}

const textOf = (body, headers) => {
  if ((headers.get("transfer-encoding") || "") !== "chunked") return body.toString("latin1");
  let text = "";
  for (let at = 0; ; ) {
    const end = body.indexOf("\r\n", at);
    const size = parseInt(body.subarray(at, end).toString(), 16);
    if (!size) return text;
    text += body.subarray(end + 2, end + 2 + size).toString("latin1");
    at = end + size + 4;
  }
};

const replayed = async (url, timestamp) => {
  const request = { url, timestamp, request: new Request("http://127.0.0.1/"), httpToHttpsNeeded: false };
  const answer = await collection.store.getResource(request, "", {}, {});
  if (!answer) return [0, "nothing"];
  return [answer.status, textOf(Buffer.from((await answer.getBuffer()) ?? []), answer.headers)];
};

let count = 0;
for (const [url, bodies] of Object.entries(sent)) {
  const all = await collection.store.db.getAll("resources", IDBKeyRange.bound([url], [url, Infinity]));
  const moments = all.map((entry) => entry.ts).sort((a, b) => a - b);
  if (moments.length !== bodies.length) {
    problems.push(`${url}: ${bodies.length} visits, ${moments.length} captures`);
  }
  const asked = moments.map((ts, n) => [new Date(ts).toISOString().replace(/\D/g, "").slice(0, 14), bodies[n]]);
  for (const [timestamp, body] of [...asked, ["", bodies.at(-1)]]) {
    const [status, text] = await replayed(url, timestamp);
    count += 1;
    if (status !== 200 || text !== body) {
      problems.push(`${url} of ${timestamp || "no date"}: ${status} ${JSON.stringify(text.slice(0, 80))}`);
    }
  }
}
problems.forEach((problem) => log(problem));
if (count === 0) log("nothing to replay");
if (problems.length === 0) log(`${count} answers replayed as they were sent`);
process.exit(problems.length || count === 0 ? 1 : 0);
