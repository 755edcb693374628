import { randomBytes } from 'node:crypto';
import { Bucket } from '@brine/bus';
import type { MasterOptions } from '@brine/config';
import { SecretBox } from '@brine/crypt';
import { BucketPillars } from '@brine/master-state';
import { startNats, vectorFile } from '@brine/testing';
import { mapOf, type SaltMap } from '@brine/wire';
import { describe, expect, it, vi } from 'vitest';
import { CachedPillars } from './pillar-cache.ts';

const { pem } = vectorFile<{ readonly master_key: { readonly pem: string } }>(
  'auth.json',
).master_key;
const box = SecretBox.fromMasterKey(pem, 'pillar');

const OPTIONS = {
  minionDataCache: true,
  pillarCache: true,
  pillarCacheTtl: 3600,
  pillarRoots: { base: [], dev: [] },
  pillarenv: null,
  pillarenvFromSaltenv: false,
  pillarSourceMergingStrategy: 'smart',
  renderer: 'jinja|yaml',
  rendererBlacklist: [],
  rendererWhitelist: [],
  pillarMergeLists: false,
} as unknown as MasterOptions;

const asked = (more: Record<string, SaltMap | string | boolean> = {}): SaltMap =>
  mapOf({ id: 'web1.example', grains: mapOf({}), ...more });

async function workers(options: MasterOptions, count = 2) {
  const nats = await startNats();
  const bus = await nats.connect('worker-pool');
  let made = 0;
  const render = vi.fn(async (load: SaltMap) =>
    mapOf({ made: (made += 1), env: load.get('pillarenv') ?? null, secret: 'hush-hush' }),
  );
  const trouble: string[] = [];
  const all = Array.from({ length: count }, () => {
    const kept = new BucketPillars(new Bucket(bus, 'brine_pillars'), box);
    return new CachedPillars({ render }, kept, options, (text) => trouble.push(text));
  });
  return { nats, bus, all, render, trouble };
}

describe('pillars that were made', () => {
  it('serve all workers with pillar_cache, for each environment, until clean_cache', async () => {
    const { nats, all } = await workers(OPTIONS);
    await using _nats = nats;
    const [one, other] = all as [CachedPillars, CachedPillars];
    expect((await one.render(asked())).get('made')).toBe(1);
    expect((await other.render(asked())).get('made')).toBe(1);
    expect((await other.render(asked({ pillarenv: 'dev' }))).get('made')).toBe(2);
    expect((await one.render(asked({ pillarenv: 'dev' }))).get('made')).toBe(2);
    expect((await one.render(asked({ clean_cache: true }))).get('made')).toBe(3);
    expect((await other.render(asked())).get('made')).toBe(3);
  });

  it('of environments that the master does not have are not kept', async () => {
    const { nats, all } = await workers(OPTIONS, 1);
    await using _nats = nats;
    for (const made of [1, 2]) {
      expect((await all[0]?.render(asked({ pillarenv: 'qa' })))?.get('made')).toBe(made);
    }
  });

  it('are made again after pillar_cache_ttl, and each time without pillar_cache', async () => {
    for (const more of [{ pillarCacheTtl: -1 }, { pillarCache: false }]) {
      const { nats, all } = await workers({ ...OPTIONS, ...more }, 1);
      await using _nats = nats;
      for (const made of [1, 2]) expect((await all[0]?.render(asked()))?.get('made')).toBe(made);
    }
  });

  it('are kept without values from the command line or from the request of a minion', async () => {
    const { nats, all, render } = await workers(OPTIONS, 1);
    await using _nats = nats;
    const [one] = all as [CachedPillars];
    const override = mapOf({ made: mapOf({ by: 'cli' }) });
    const ext = mapOf({ git: 'x' });
    expect((await one.render(asked({ override }))).get('made')).toEqual(mapOf({ by: 'cli' }));
    expect(render.mock.calls[0]?.[0].get('override')).toEqual(mapOf({}));
    expect((await one.render(asked({ ext }))).get('made')).toBe(2);
    expect((await one.render(asked())).get('made')).toBe(1);
  });

  it('are there for targets, and unreadable where they are kept', async () => {
    const { nats, bus, all } = await workers(OPTIONS);
    await using _nats = nats;
    const [one, other] = all as [CachedPillars, CachedPillars];
    await one.render(asked());
    await one.render(asked({ pillarenv: 'dev' }));
    expect(other.of('web1.example')).toBeUndefined();
    await other.ready();
    expect(other.of('web1.example')?.get('secret')).toBe('hush-hush');
    expect(other.of('web1.example')?.get('env')).toBeNull();
    for await (const { value } of new Bucket(bus, 'brine_pillars').entries()) {
      expect(Buffer.from(value).includes('hush')).toBe(false);
    }
  });

  it('are read for one minion by any worker, in the environment of the master', async () => {
    const { nats, all, render } = await workers(OPTIONS);
    await using _nats = nats;
    const [one, other] = all as [CachedPillars, CachedPillars];
    expect(await other.kept('web1.example')).toBeUndefined();
    await one.render(asked({ pillarenv: 'dev' }));
    expect(await other.kept('web1.example')).toBeUndefined();
    await one.render(asked());
    const kept = await other.kept('web1.example');
    expect(kept?.data.get('secret')).toBe('hush-hush');
    expect(kept?.data.get('env')).toBeNull();
    expect(kept?.atMs).toBeGreaterThan(0);
    expect(render).toHaveBeenCalledTimes(2);
  });

  it('too large to be kept are given to the minion all the same', async () => {
    const { nats, all, render, trouble } = await workers(OPTIONS, 1);
    await using _nats = nats;
    const noise = randomBytes(6 * 1024 * 1024);
    render.mockResolvedValue(mapOf({ noise: noise.toString('base64') }));
    expect((await all[0]?.render(asked()))?.get('noise')).toHaveLength(8 * 1024 * 1024);
    expect(trouble).toEqual(['a pillar was not kept']);
  });
});
