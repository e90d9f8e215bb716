// Recomputes the corpus's vector files with the browser module, under any JavaScript engine.
//
//   node verify.mjs MODULE.wasm CORPUS       (exit 0: equal, 3: not)
//
// In a page, import { verify } and give it the module's bytes and a map of path to bytes.

// `files`: a map of each path, relative to ops-conformance/, to its Uint8Array. Gives
// { files, faults }: the number of vector files and a list of texts, empty when all is equal.
export async function verify(moduleBytes, files) {
  const { instance } = await WebAssembly.instantiate(moduleBytes, {});
  const wasm = instance.exports;
  wasm._initialize?.();
  const put = (bytes) => {
    const at = wasm.helx_alloc(bytes.length || 1);
    new Uint8Array(wasm.memory.buffer, at, bytes.length).set(bytes);
    return at;
  };
  const text = (which) => {
    const packed = BigInt.asUintN(64, wasm.helx_text(which));
    const at = Number(packed & 0xffffffffn);
    return new TextDecoder().decode(
        new Uint8Array(wasm.memory.buffer, at, Number(packed >> 32n)));
  };
  const faults = [];
  let npu = '';
  const paths = [...files.keys()].filter((path) => /^(vectors|stage|graphs)\/.*\.jsonl$/.test(path));
  for (const path of paths.sort()) {
    const name = new TextEncoder().encode(path);
    const bytes = files.get(path);
    const nameAt = put(name);
    const bytesAt = put(bytes);
    if (wasm.helx_verify(nameAt, name.length, bytesAt, bytes.length) !== 0) {
      faults.push(...text(0).trimEnd().split('\n'));
    }
    npu += text(1);
    wasm.helx_free(nameAt);
    wasm.helx_free(bytesAt);
  }
  if (paths.length === 0) faults.push('no vector files');
  const committed = files.get('npu.jsonl');
  if (!committed || new TextDecoder().decode(committed) !== npu) {
    faults.push("npu.jsonl: not the verdicts of the vectors' graphs");
  }
  return { files: paths.length, faults };
}

async function main(modulePath, corpus) {
  const { readFile, readdir } = await import('node:fs/promises');
  const { join } = await import('node:path');
  const files = new Map();
  for (const folder of ['vectors', 'stage', 'graphs']) {
    for (const name of await readdir(join(corpus, folder))) {
      files.set(`${folder}/${name}`, new Uint8Array(await readFile(join(corpus, folder, name))));
    }
  }
  files.set('npu.jsonl', new Uint8Array(await readFile(join(corpus, 'npu.jsonl'))));
  const result = await verify(await readFile(modulePath), files);
  for (const fault of result.faults) console.error(fault);
  console.log(`${result.files} vector files recomputed, ${result.faults.length} faults`);
  return result.faults.length === 0 ? 0 : 3;
}

if (typeof process !== 'undefined' && process.argv?.[1]?.endsWith('verify.mjs')) {
  process.exit(await main(process.argv[2], process.argv[3]));
}
