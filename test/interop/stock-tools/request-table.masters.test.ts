import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { BrineMaster } from '@brine/testing';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { OUTCOMES_FILE } from '../../../tools/request-table.ts';
import { DIFFERENCES, reasonFor } from '../../../tools/request-table/differences.ts';
import type { Outcomes, TableKeys } from '../../../tools/request-table/run-table.ts';
import { allFrames, runTable, tableKeys } from '../../../tools/request-table/run-table.ts';

/*
 * Every command of the request port, as anybody could send it: what comes of it is what comes of it
 * at a stock salt-master, or the difference has a reason. `npm run request-table` asks the
 * stock master again.
 */

let master: BrineMaster;
let keys: TableKeys;
const stock = JSON.parse(readFileSync(OUTCOMES_FILE, 'utf8')) as Outcomes;

beforeAll(async () => {
  keys = await tableKeys();
  master = await BrineMaster.start(
    { brine: { workers: 2 } },
    {
      onHome: ({ pkiDir }) => {
        mkdirSync(join(pkiDir, 'minions'), { recursive: true, mode: 0o700 });
        for (const [id, key] of Object.entries(keys)) {
          writeFileSync(join(pkiDir, 'minions', id), key.publicKey.pem);
        }
      },
    },
  );
});
afterAll(() => master?.close());

it('the table is the one that the stock master was asked', () => {
  expect(Object.keys(stock).sort()).toEqual(
    allFrames()
      .map(({ name }) => name)
      .sort(),
  );
});

it('each frame gets the answer of a stock master, or one that differs for a reason', async () => {
  const rootKey = readFileSync(join(master.home.cacheDir, '.root_key'), 'utf8').trim();
  const ours = await runTable(keys, { port: master.home.retPort, rootKey });
  const unexplained = Object.entries(ours)
    .filter(([name, outcome]) => outcome !== stock[name] && reasonFor(name) === undefined)
    .map(([name, outcome]) => ({ name, ours: outcome, stock: stock[name] }));
  expect(unexplained).toEqual([]);
  expect(Object.values(ours)).not.toContain('no answer');
  const differing = Object.entries(ours).filter(([name, outcome]) => outcome !== stock[name]);
  const frames = Object.keys(ours).length;
  process.stdout.write(
    `${frames} frames, ${differing.length} differ for ${DIFFERENCES.length} reasons\n`,
  );
}, 300_000);
