import { Bucket } from '@brine/bus';
import { SecretBox } from '@brine/crypt';
import { startNats, vectorFile } from '@brine/testing';
import { growsOld } from '@brine/testing/waits';
import { describe, expect, it, vi } from 'vitest';
import { BucketMinionKeys } from './minion-keys.ts';
import { BucketSessionKeys } from './session-keys.ts';

const { pem } = vectorFile<{ readonly master_key: { readonly pem: string } }>(
  'auth.json',
).master_key;
const box = SecretBox.fromMasterKey(pem, 'session');

describe('session keys of several workers', () => {
  it('workers that are asked at the same moment hand out the same key', async () => {
    await using nats = await startNats();
    const bus = await nats.connect('worker-pool');
    const workers = [1, 2, 3, 4].map(
      () => new BucketSessionKeys(new Bucket(bus, 'brine_sessions'), box, 86_400),
    );
    const keys = await Promise.all(workers.map((worker) => worker.current('web1.example')));
    expect(new Set(keys.map((key) => key.keyString)).size).toBe(1);
    const [opened] = await workers[0]!.fetch('web1.example');
    expect(opened?.keyString).toBe(keys[0]?.keyString);
  });

  it('a key that another worker made is here as soon as the watch shows it', async () => {
    await using nats = await startNats();
    const bus = await nats.connect('worker-pool');
    const bucket = new Bucket(bus, 'brine_sessions');
    const maker = new BucketSessionKeys(bucket, box, 86_400);
    const other = new BucketSessionKeys(bucket, box, 86_400);
    const { keyString } = await maker.current('web1.example');
    expect(other.cached('web1.example')).toEqual([]);
    for await (const entry of bucket.entries()) other.changed(entry);
    expect(other.cached('web1.example').map((key) => key.keyString)).toEqual([keyString]);
    expect(other.has('web1.example')).toBe(true);
    other.reset();
    expect(other.cached('web1.example')).toEqual([]);
  });

  it('a source that could not be asked is asked again at once, not taken for an empty one', async () => {
    await using nats = await startNats();
    const bus = await nats.connect('worker-pool');
    const bucket = new Bucket(bus, 'brine_sessions');
    const { keyString } = await new BucketSessionKeys(bucket, box, 86_400).current('m');
    const sessions = new BucketSessionKeys(bucket, box, 86_400);
    const get = vi.spyOn(bucket, 'get').mockRejectedValueOnce(new Error('no answer in time'));
    await expect(sessions.fetch('m')).rejects.toThrow('session keys cannot be reached');
    expect((await sessions.fetch('m')).map((key) => key.keyString)).toEqual([keyString]);
    expect(get).toHaveBeenCalledTimes(2);
  });

  it('the key in the bucket is sealed', async () => {
    await using nats = await startNats();
    const bus = await nats.connect('worker-pool');
    const bucket = new Bucket(bus, 'brine_sessions');
    const sessions = new BucketSessionKeys(bucket, box, 86_400);
    const { keyString } = await sessions.current('m');
    for await (const entry of bucket.entries()) {
      expect(Buffer.from(entry.value).includes(keyString)).toBe(false);
    }
  });

  it('an old key is renewed and still opens requests for a while', async () => {
    await using nats = await startNats();
    const bus = await nats.connect('worker-pool');
    const bucket = new Bucket(bus, 'brine_sessions');
    const before = await new BucketSessionKeys(bucket, box, 0).current('m');
    // A maximum age below the time that has passed: the key counts as old.
    await growsOld('the key', 20);
    const strict = new BucketSessionKeys(bucket, box, 0.01);
    const after = await strict.current('m');
    expect(after.keyString).not.toBe(before.keyString);
    const opens = strict.cached('m').map((key) => key.keyString);
    expect(opens).toEqual([after.keyString, before.keyString]);
  });
});

describe('key states of several workers', () => {
  it('of two decisions on one key the first counts and the second is refused', async () => {
    await using nats = await startNats();
    const bus = await nats.connect('worker-pool');
    const keys = new BucketMinionKeys(new Bucket(bus, 'brine_keys'), () => Promise.resolve());
    const pending = { state: 'pending', pub: 'A', denied: [] } as const;
    expect(await keys.store('web1.example.com', pending, undefined)).toBe(true);
    const seen = await keys.fetch('web1.example.com');
    const accepted = { ...pending, state: 'accepted' } as const;
    expect(await keys.store('web1.example.com', accepted, seen)).toBe(true);
    expect(await keys.store('web1.example.com', { ...pending, state: 'rejected' }, seen)).toBe(
      false,
    );
    expect((await keys.fetch('web1.example.com'))?.state).toBe('accepted');
    expect([...keys.accepted()]).toEqual(['web1.example.com']);
    expect(keys.counts()).toEqual({ accepted: 1, pending: 0, rejected: 0, denied: 0 });
  });
});
