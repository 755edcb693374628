import { mapOf, type SaltMap, type SaltValue } from '@brine/wire';
import { describe, expect, test } from 'vitest';
import { compilePillar } from './compile-pillar.ts';
import type { PillarMinion, PillarOptions, PillarPorts } from './ports.ts';

const OPTIONS: PillarOptions = {
  renderer: 'jinja|yaml',
  rendererBlacklist: [],
  rendererWhitelist: [],
  stateTop: 'top.sls',
  mergingStrategy: 'smart',
  mergeLists: false,
  includesOverrideSls: false,
  safeRenderError: true,
  pillarOpts: false,
  pillarenv: null,
  pillarenvFromSaltenv: false,
  envOrder: [],
  extPillarFirst: false,
  extPillar: [],
  excludeExtPillar: [],
  onDemandExtPillar: [],
  decrypt: { keys: [], delimiter: ':', renderers: ['gpg'] },
  saltVersion: '',
  nodegroups: {},
  trimBlocks: false,
  lstripBlocks: false,
  allowUndefined: false,
  opts: mapOf({}),
};

/** The pillar of a master that serves `here` alone, which gives `{ a: 1 }`. */
function pillarOf(options: Partial<PillarOptions>, ext: SaltMap | null = null) {
  const logged: string[] = [];
  const ports: PillarPorts = {
    files: { environments: [], read: () => undefined, list: () => [] },
    outside: { now: () => 0, random: () => 0 },
    functions: () => new Map(),
    decrypt: (value) => value,
    external: (name) => (name === 'here' ? mapOf({ a: 1 }) : undefined),
    log: (level, text) => void logged.push(`${level}: ${text}`),
  };
  const override = new Map<SaltValue, SaltValue>();
  const minion: PillarMinion = {
    id: 'web1',
    grains: mapOf({}),
    saltenv: null,
    pillarenv: null,
    override,
    ext,
  };
  const pillar = compilePillar(ports, { ...OPTIONS, ...options }, minion);
  return { pillar: Object.fromEntries(pillar) as Record<string, SaltValue>, logged };
}

const HERE = mapOf({ here: null });
const ELSEWHERE = mapOf({ elsewhere: null });
const TEXT =
  'Failed to load ext_pillar elsewhere: it is not served here; ' +
  'set brine.python to use that of Salt';

describe('an external pillar that is not served', () => {
  test.each([
    ['after the files', {}],
    ['before the files', { extPillarFirst: true }],
  ])('is an error of the pillar, %s', (_when, options) => {
    const { pillar, logged } = pillarOf({ extPillar: [HERE, ELSEWHERE], ...options });
    expect(pillar).toEqual({ a: 1, _errors: [TEXT] });
    expect(logged).toEqual([`critical: ${TEXT}`]);
  });

  test('is one also where it shares its entry with one that is served', () => {
    const { pillar } = pillarOf({ extPillar: [mapOf({ here: null, elsewhere: null })] });
    expect(pillar).toEqual({ a: 1, _errors: [TEXT] });
  });

  test('is one also where the minion asked for it and may', () => {
    const { pillar } = pillarOf({ onDemandExtPillar: ['elsewhere'] }, ELSEWHERE);
    expect(pillar).toEqual({ _errors: [TEXT] });
  });

  test('is none where exclude_ext_pillar has it', () => {
    const { pillar } = pillarOf({
      extPillar: [HERE, ELSEWHERE],
      excludeExtPillar: ['elsewhere'],
    });
    expect(pillar).toEqual({ a: 1 });
  });
});
