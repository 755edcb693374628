import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { mapOf, pack, unpack } from '@brine/wire';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { BatchFiles } from './batch-files.ts';
import { JobFiles } from './job-files.ts';

const JID = '20261126120000123456';
let cachedir: string;
let files: BatchFiles;

beforeEach(async () => {
  cachedir = await mkdtemp(join(tmpdir(), 'brine-batches-'));
  files = new BatchFiles(new JobFiles({ cachedir }), cachedir);
});
afterEach(() => rm(cachedir, { recursive: true, force: true }));

test('a state is written where Salt reads it, in a directory that is cleaned one day', async () => {
  const state = mapOf({ jid: JID, pending: ['a'] });
  await files.writeState(JID, state);
  expect(await files.readOwnState(JID)).toEqual(state);
  const dir = new JobFiles({ cachedir }).dir(JID);
  expect(await readFile(join(dir, 'jid'), 'utf8')).toBe(JID);
  expect(await files.readOwnState('20261126120000999999')).toBeUndefined();
});

test('the list of active batches keeps what a stock command has added', async () => {
  const path = join(cachedir, 'batch_active.p');
  await writeFile(path, pack(['20261126110000000000']));
  await files.mark(JID, true);
  expect(unpack(await readFile(path))).toEqual(['20261126110000000000', JID]);
  await files.mark(JID, false);
  expect([...(await files.active())]).toEqual(['20261126110000000000']);
});
