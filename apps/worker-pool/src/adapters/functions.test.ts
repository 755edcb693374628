import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { LocalClient } from '@brine/client';
import { loadMasterConfig } from '@brine/config';
import type { Answer } from '@brine/master';
import { isMap, mapIn, pack, type SaltValue, unpack } from '@brine/wire';
import { expect, test } from 'vitest';
import { answerHere, settingsFor } from './functions.ts';

test('a limited runner publishes with rights that are handed down, not as root', async () => {
  const dir = mkdtempSync(join(tmpdir(), 'brine-functions-'));
  writeFileSync(join(dir, 'master'), '');
  const { options } = loadMasterConfig({ configDir: dir, env: {} });
  rmSync(dir, { recursive: true });
  const handedDown = async (limited?: true): Promise<SaltValue | undefined> => {
    let rights: SaltValue | undefined;
    const ports = {
      request: {
        request: async (body: Uint8Array) => {
          const sent = unpack(body);
          const load = isMap(sent) ? mapIn(sent, 'load') : undefined;
          rights = load && mapIn(load, 'kwargs')?.get('auth_list');
          return pack('refused');
        },
      },
      events: { listen: async () => ({ close: () => undefined }) },
      master: { isPresent: () => true, readKey: async () => 'key' },
      logError: () => undefined,
    };
    const client = new LocalClient(ports, settingsFor(options, limited ? { limited } : {}));
    const command = { tgt: 'I@role:web', tgtType: 'compound', fun: 'test.ping', arg: [] };
    await expect(client.publish(command)).rejects.toThrow('refused');
    return rights;
  };
  expect(await handedDown()).toBeUndefined();
  expect(await handedDown(true)).toEqual(['.*']);
});

const ABOUT = { kind: 'publish', jid: '20261126120000123456' } as const;

test('what a runner sends under an id is one request, and anything else a new one', async () => {
  const ids: string[] = [];
  const answer = (request: { readonly id: string }): Promise<Answer> => {
    ids.push(request.id);
    return Promise.resolve({ kind: 'reply', body: pack(''), about: ABOUT });
  };
  const traced: unknown[] = [];
  const send = (more: { readonly id?: string; readonly link?: string }): Promise<Uint8Array> =>
    answerHere({ answer }, pack(''), { host: 'h', ...more }, (_id, about) => traced.push(about));
  for (const more of [{ id: 'step-1', link: 'x' }, { id: 'step-1' }, {}, {}]) await send(more);
  expect(ids.slice(0, 2)).toEqual(['step-1', 'step-1']);
  expect(new Set(ids).size).toBe(3);
  expect(traced).toEqual([{ ...ABOUT, link: 'x' }, ABOUT, ABOUT, ABOUT]);
});

test('runners in a worker know the nodegroups of the master', () => {
  const dir = mkdtempSync(join(tmpdir(), 'brine-functions-'));
  writeFileSync(join(dir, 'master'), 'nodegroups:\n  web: L@a,b\n  all: [N@web, or, c]\n');
  const { options } = loadMasterConfig({ configDir: dir, env: {} });
  rmSync(dir, { recursive: true });
  const { nodegroups } = settingsFor(options, {});
  expect([...nodegroups]).toEqual([
    ['web', 'L@a,b'],
    ['all', ['N@web', 'or', 'c']],
  ]);
});
