// Sends the table of requests (tools/request-table) to a real salt-master and records the outcomes:
// `npm run request-table [-- --salt RELEASE --out FILE]`. A test sends the same to Brine.
import { chmod, mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { anySaltVenv, newestOf, SaltSandbox } from '@brine/testing';
import { format } from 'prettier';
import { runTable, tableKeys, tableMinions } from './request-table/run-table.ts';

/** The file of the outcomes. */
export const OUTCOMES_FILE = new URL(
  '../test/fixtures/request-table/outcomes.json',
  import.meta.url,
).pathname;

if (process.argv[1] === new URL(import.meta.url).pathname) {
  const options = {
    salt: { type: 'string', default: newestOf('3008') },
    out: { type: 'string', default: OUTCOMES_FILE },
  } as const;
  const { salt, out } = parseArgs({ options }).values;
  const venv = await anySaltVenv(salt);
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
  await writeFile(out, await format(JSON.stringify(outcomes), { parser: 'json' }));
  process.stdout.write(`${Object.keys(outcomes).length} outcomes in ${out}\n`);
}
