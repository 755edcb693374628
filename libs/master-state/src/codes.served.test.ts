import { createHash, randomBytes } from 'node:crypto';
import { Bucket } from '@brine/bus';
import { PrivateKey, SecretBox } from '@brine/crypt';
import { startNats, type TestNats, vectorFile } from '@brine/testing';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { BucketCodes } from './codes.ts';

const { pem } = vectorFile<{ readonly master_key: { readonly pem: string } }>(
  'auth.json',
).master_key;
const KEY_HASH = createHash('sha256').update('root-key').digest('hex');

let nats: TestNats;
beforeAll(async () => {
  nats = await startNats();
});
afterAll(() => nats?.close());

async function store() {
  const bucket = new Bucket(await nats.connect('worker-pool'), 'brine_codes');
  const box = SecretBox.fromMasterKey(PrivateKey.parse(pem), 'code');
  return { bucket, codes: new BucketCodes(bucket, box) };
}

function newCode() {
  const code = randomBytes(32).toString('base64url');
  return { code, hash: createHash('sha256').update(code).digest('hex') };
}

const record = () => ({ key: { hash: KEY_HASH, user: 'root' }, expire: 2_000_000_000 });

test('of workers that take a code at the same time one gets it', async () => {
  const workers = await Promise.all([store(), store(), store()]);
  for (let round = 0; round < 20; round += 1) {
    const { code, hash } = newCode();
    expect(await workers[0]?.codes.keep(hash, record())).toBe(true);
    const tries = workers.flatMap(({ codes }) => [codes.take(code), codes.take(code)]);
    const taken = (await Promise.all(tries)).filter((one) => one !== undefined);
    expect(taken).toEqual([record()]);
  }
});

test('a code that was taken is neither taken nor kept again', async () => {
  const { codes } = await store();
  const { code, hash } = newCode();
  await codes.keep(hash, record());
  expect(await codes.keep(hash, record())).toBe(false);
  expect(await codes.take(code)).toEqual(record());
  expect(await codes.take(code)).toBeUndefined();
  expect(await codes.keep(hash, record())).toBe(false);
  expect(await codes.take(code)).toBeUndefined();
});

test('the store has neither codes, nor users, nor hashes of keys', async () => {
  const { bucket, codes } = await store();
  const { code, hash } = newCode();
  await codes.keep(hash, record());
  let stored = '';
  for await (const { key, value } of bucket.entries()) {
    stored += `${key} ${Buffer.from(value).toString('latin1')}\n`;
  }
  expect(stored).toContain(hash);
  for (const secret of [code, KEY_HASH, 'root']) expect(stored).not.toContain(secret);
});
