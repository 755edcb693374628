import { readFileSync } from 'node:fs';
import type { LocalClient } from '@brine/client';
import { mapOf, type SaltValue } from '@brine/wire';
import { fromJson } from '@brine/wire/text';
import { expect, test } from 'vitest';
import { LocalCalls } from './local.ts';

const JID = '20261129204500123456';
const ID = 'dead1.example';

/** The answer that was recorded for a minion that does not return. */
function recorded(version: string): SaltValue {
  const path = new URL('../../../../test/fixtures/transcripts/api.json', import.meta.url);
  const cases = JSON.parse(readFileSync(path, 'utf8')) as readonly {
    readonly name: string;
    readonly version: string;
    readonly body: string;
  }[];
  const one = cases.find((each) => each.name === 'api/local-dead' && each.version === version);
  const body = JSON.parse((one?.body ?? '').replaceAll('<JID>', JID)) as {
    readonly return: readonly Readonly<Record<string, unknown>>[];
  };
  return fromJson(body.return[0]?.[ID]);
}

/** What a call gives for a minion that does not return. */
async function silent(silentText: boolean, isFull: boolean): Promise<SaltValue | undefined> {
  const client = {
    publish: async () => ({ jid: JID, minions: [ID] }),
    returns: async function* () {
      yield { kind: 'missing', id: ID };
    },
    close: async () => undefined,
  } as unknown as LocalClient;
  const calls = new LocalCalls(client, { silentText }, { newId: () => 'id', newJid: () => JID });
  const chunk = mapOf({ tgt: ID, fun: 'test.ping', ...(isFull ? { full_return: true } : {}) });
  for await (const { value } of (await calls.run(chunk))?.answers ?? []) return value;
  return undefined;
}

test('a minion that does not return is shown as the release that the option names shows it', async () => {
  expect(await silent(true, false)).toEqual(recorded('3008.2'));
  expect(await silent(false, false)).toEqual(recorded('3006.26'));
});

test('with full_return the text of 3008 has a retcode, and 3006 gives false', async () => {
  const ret = recorded('3008.2');
  expect(await silent(true, true)).toEqual(mapOf({ out: 'no_return', ret, retcode: 1 }));
  expect(await silent(false, true)).toBe(false);
});
