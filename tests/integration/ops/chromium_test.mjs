// verify.mjs in headless Chromium: chromium_test.mjs MODULE.wasm CORPUS (exit 0: equal, 3: not).
//
// A server on a free port of the loopback interface serves a page, the script, the module and the
// corpus's files; the page posts what verify() gives. A second run, with one digit of a vector file
// changed, must be found: a page that reports success without recomputing would pass the first.
import { spawn } from 'node:child_process';
import { mkdtemp, readFile, readdir, rm } from 'node:fs/promises';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { argv, exit } from 'node:process';
import { fileURLToPath } from 'node:url';

const [modulePath, corpus] = argv.slice(2);
const here = dirname(fileURLToPath(import.meta.url));
const script = join(here, '../../../client/ops/wasm/verify.mjs');

const PAGE = `<!doctype html><script type="module">
import { verify } from '/verify.mjs';
const bytes = async (path) => new Uint8Array(await (await fetch(path)).arrayBuffer());
let result;
try {
  const files = new Map();
  for (const path of await (await fetch('/files')).json()) {
    files.set(path, await bytes('/corpus/' + path));
  }
  result = await verify(await bytes('/module.wasm'), files);
} catch (error) {
  result = { files: 0, faults: [String(error)] };
}
await fetch('/result', { method: 'POST', body: JSON.stringify(result) });
</script>`;

async function corpusFiles() {
  const files = new Map([['npu.jsonl', await readFile(join(corpus, 'npu.jsonl'))]]);
  for (const folder of ['vectors', 'stage', 'graphs']) {
    for (const name of await readdir(join(corpus, folder))) {
      files.set(`${folder}/${name}`, await readFile(join(corpus, folder, name)));
    }
  }
  return files;
}

// What the page found for `files`.
async function inChromium(files) {
  const fixed = new Map([
    ['/', ['text/html', PAGE]],
    ['/verify.mjs', ['text/javascript', await readFile(script)]],
    ['/module.wasm', ['application/wasm', await readFile(modulePath)]],
    ['/files', ['application/json', JSON.stringify([...files.keys()])]],
  ]);
  let report;
  const result = new Promise((resolve) => { report = resolve; });
  const server = createServer((request, response) => {
    if (request.method === 'POST') {
      let body = '';
      request.on('data', (part) => { body += part; });
      request.on('end', () => { response.end(); report(JSON.parse(body)); });
      return;
    }
    const found = fixed.get(request.url);
    const file = files.get(request.url.replace(/^\/corpus\//, ''));
    if (found) {
      response.writeHead(200, { 'content-type': found[0] }).end(found[1]);
    } else {
      response.writeHead(file ? 200 : 404).end(file);
    }
  });
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
  const profile = await mkdtemp(join(tmpdir(), 'helx-chromium-'));
  // No sandbox: its user namespaces are not available to root in a container.
  const browser = spawn('chromium', [
    '--headless', '--no-sandbox', '--disable-gpu', '--disable-dev-shm-usage',
    `--user-data-dir=${profile}`, `http://127.0.0.1:${server.address().port}/`,
  ], { stdio: 'ignore', detached: true });
  const ended = new Promise((resolve) => browser.on('exit', resolve));
  const outcome = await Promise.race([
    result, ended.then((code) => ({ files: 0, faults: [`chromium exits with ${code}`] })),
  ]);
  // The browser's own children are in its process group.
  try { process.kill(-browser.pid, 'SIGKILL'); } catch { /* It has ended. */ }
  await ended;
  server.closeAllConnections();
  server.close();
  await rm(profile, { recursive: true, force: true, maxRetries: 5 });
  return outcome;
}

const files = await corpusFiles();
const committed = await inChromium(files);
for (const fault of committed.faults) console.error(fault);
console.log(`${committed.files} vector files recomputed, ${committed.faults.length} faults`);
const damaged = new Map(files);
damaged.set('vectors/conv.jsonl', Buffer.from(
    files.get('vectors/conv.jsonl').toString().replace('"out":[{"data":[', '"out":[{"data":[1')));
const found = await inChromium(damaged);
console.log(`${found.faults.length} faults in a damaged copy`);
const named = found.faults.some((fault) => fault.includes('vectors/conv.jsonl:1'));
exit(committed.files > 0 && committed.faults.length === 0 && named ? 0 : 3);
