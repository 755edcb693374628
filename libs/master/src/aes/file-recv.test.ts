import { PrivateKey } from '@brine/crypt';
import { memoryMaster, vectorFile } from '@brine/testing';
import { mapOf, type SaltValue } from '@brine/wire';
import { expect, test } from 'vitest';
import type { MasterRules } from '../ports/ports.ts';
import { receiveFile } from './file-recv.ts';

const auth = vectorFile<{ readonly master_key: { readonly pem: string } }>('auth.json');
const ON: Partial<MasterRules> = { fileRecv: { maxMegabytes: 1 } };

async function send(
  rules: Partial<MasterRules>,
  fields: Readonly<Record<string, SaltValue>>,
  minion = 'web1',
): Promise<SaltValue | readonly unknown[]> {
  const master = memoryMaster({ masterKey: PrivateKey.parse(auth.master_key.pem), rules });
  const written: unknown[] = [];
  const received = {
    write: (piece: unknown) => {
      written.push(piece);
      return Promise.resolve(true);
    },
  };
  const load = mapOf({ id: 'web1', path: ['a', 'b'], loc: 0, data: 'xy', ...fields });
  const answer = await receiveFile({ ...master.ports, received }, minion, load);
  return answer === true ? written : answer;
}

test('a piece is written where minions may send files', async () => {
  const piece = { id: 'web1', path: ['a', 'b'], loc: 1, data: Buffer.from('xy'), size: 0 };
  expect(await send(ON, { loc: 1 })).toEqual([piece]);
});

test('nothing is written that file_recv does not allow', async () => {
  expect(await send({}, {})).toBe(false);
  expect(await send(ON, { path: 'a/b' })).toBe(false);
  expect(await send(ON, { loc: 1024 * 1024 - 1 })).toBe(false);
  expect(await send(ON, { loc: 1024 * 1024 - 2 })).toHaveLength(1);
  expect(await send(ON, {}, 'other')).toBe(false);
  await expect(send(ON, { loc: -1 })).rejects.toThrow(/_file_recv/);
});
