// Sends the table of requests (tools/request-table) to a real salt-master 3008.2 and writes down
// what came of each: `npm run request-table`. A test sends the same to Brine and compares.
import { chmod, mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { SaltSandbox, saltVenv } from '@brine/testing';
import { format } from 'prettier';
import { runTable, tableKeys, tableMinions } from './request-table/run-table.ts';

/** The judge. */
const VERSION = '3008.2';

/** Where the outcomes lie. */
export const OUTCOMES_FILE = new URL(
  `../test/fixtures/request-table/${VERSION}.json`,
  import.meta.url,
).pathname;

if (process.argv[1] === new URL(import.meta.url).pathname) {
  const venv = await saltVenv(VERSION);
  await using sandbox = await SaltSandbox.create();
  const master = await sandbox.master({ auto_accept: false, worker_threads: 3 });
  const accepted = join(master.pkiDir, 'minions');
  await mkdir(accepted, { recursive: true, mode: 0o700 });
  await chmod(master.pkiDir, 0o700);
  const keys = await tableKeys();
  for (const [id, key] of tableMinions(keys)) {
    await writeFile(join(accepted, id), `${key.publicKey.pem.trim()}\n`);
  }
  await sandbox.startMaster(venv, master);
  const rootKey = (await readFile(join(master.cacheDir, '.root_key'), 'utf8')).trim();
  const outcomes = await runTable(keys, { port: master.retPort, rootKey }, (name) => {
    process.stderr.write(`no answer: ${name}\n`);
  });
  await mkdir(join(OUTCOMES_FILE, '..'), { recursive: true });
  await writeFile(OUTCOMES_FILE, await format(JSON.stringify(outcomes), { parser: 'json' }));
  process.stdout.write(`${Object.keys(outcomes).length} outcomes in ${OUTCOMES_FILE}\n`);
}
