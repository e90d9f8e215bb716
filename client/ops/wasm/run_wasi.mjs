// Runs a WASI command under Node: run_wasi.mjs COMMAND.wasm FOLDER [WORDS...]. The command sees
// FOLDER as /corpus and nothing else; a word that starts with FOLDER is rewritten to it.
import { readFile } from 'node:fs/promises';
import { argv, exit } from 'node:process';
import { WASI } from 'node:wasi';

const [file, folder, ...words] = argv.slice(2);
const args = [file, ...words.map((word) => word.replace(folder, '/corpus'))];
const wasi = new WASI({ version: 'preview1', args, preopens: { '/corpus': folder } });
const module = await WebAssembly.compile(await readFile(file));
// Node 18 has no getImportObject.
const imports = wasi.getImportObject?.() ?? { wasi_snapshot_preview1: wasi.wasiImport };
const instance = await WebAssembly.instantiate(module, imports);
exit(wasi.start(instance));
