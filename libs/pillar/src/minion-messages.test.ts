import { createHash } from 'node:crypto';
import { isMap, mapOf, type SaltMap, type SaltValue } from '@brine/wire';
import { describe, expect, test } from 'vitest';
import { comparable, optionsOf } from '../test/trees.ts';
import { compilePillar, type PillarMinion, type PillarOptions, pillarTop } from './index.ts';

/** A message as gpg writes it; those for one key begin alike. */
function message(seed: string): string {
  const bytes = createHash('sha512').update(seed).digest();
  const head = Buffer.from('8c0d04080302a1b2c3d4e5f60708', 'hex');
  const text = Buffer.concat([head, bytes, bytes.reverse(), bytes]).toString('base64');
  const lines = text.match(/.{1,64}/g)?.join('\n') ?? '';
  return `-----BEGIN PGP MESSAGE-----\n\n${lines}\n=abcd\n-----END PGP MESSAGE-----`;
}

const SENT = message('of another minion');
const OWN = message('of the master');
const MESSAGES = /-----BEGIN PGP MESSAGE-----[^]*?-----END PGP MESSAGE-----/g;

/** As gpg would: every message that may be opened is open. */
function opened(value: SaltValue, mayOpen: (message: string) => boolean): SaltValue {
  if (typeof value === 'string') {
    return value.replaceAll(MESSAGES, (one) => (mayOpen(one) ? 'OPEN' : one));
  }
  if (Array.isArray(value)) return value.map((item) => opened(item, mayOpen));
  if (!isMap(value)) return value;
  return new Map([...value].map(([key, item]) => [key, opened(item, mayOpen)]));
}

interface Case {
  readonly files?: Readonly<Record<string, string>>;
  readonly minion?: Partial<PillarMinion>;
  readonly options?: Partial<PillarOptions>;
  readonly external?: SaltValue;
}

function compiled({ files = {}, minion = {}, options = {}, external }: Case, made = compilePillar) {
  const texts: Readonly<Record<string, string>> = { 'top.sls': 'base: {"*": [a]}', ...files };
  const lines: string[] = [];
  const ports = {
    files: {
      environments: ['base'],
      read: (_env: string, path: string) => texts[path],
      list: () => Object.keys(texts),
    },
    outside: { now: () => 0, random: () => 0 },
    functions: () => new Map(),
    decrypt: opened,
    external: () => external,
    log: (_level: string, text: string) => lines.push(text),
  };
  const decrypt = { keys: [['secret', 'gpg']], delimiter: ':', renderers: ['gpg'] } as const;
  const all = { ...optionsOf(mapOf({})), decrypt, ...options };
  const who = { id: 'm', grains: mapOf({}), saltenv: null, pillarenv: null };
  const pillar = made(ports, all, { ...who, override: mapOf({}), ext: null, ...minion });
  return { pillar: pillar, lines };
}

const json = (text: string): string => JSON.stringify(text);

describe('a message that a minion sent is not decrypted', () => {
  const override = mapOf({ secret: SENT });
  test.each<[string, Case]>([
    ['in an override', { minion: { override } }],
    ['in an override over a file', { files: { 'a.sls': 'secret: x' }, minion: { override } }],
    [
      'in an override with external pillars first',
      { minion: { override }, options: { extPillarFirst: true } },
    ],
    [
      'in an override that lists grow by',
      {
        files: { 'a.sls': 'secret: [x]' },
        minion: { override: mapOf({ secret: [SENT, mapOf({ deep: SENT })] }) },
        options: { mergeLists: true },
      },
    ],
    [
      'as a grain in a template that gpg renders',
      {
        files: { 'a.sls': '#!jinja|gpg|yaml\nsecret: {{ grains.x | tojson }}' },
        minion: { grains: mapOf({ x: SENT }) },
      },
    ],
    [
      'as a grain of one line',
      {
        files: { 'a.sls': `secret: ${json(`{{ grains.x }}`)}` },
        minion: { grains: mapOf({ x: SENT.replaceAll('\n', '\\n') }) },
      },
    ],
    [
      'as lines of a grain that a template joins',
      {
        files: { 'a.sls': `secret: {{ grains.x | join('\\n') | tojson }}` },
        minion: { grains: mapOf({ x: SENT.split('\n') }) },
      },
    ],
    [
      'as the name of its environment',
      {
        files: { 'a.sls': `secret: {{ opts.saltenv | tojson }}` },
        minion: { saltenv: SENT },
      },
    ],
    [
      'from an external pillar that repeats grains',
      {
        minion: { grains: mapOf({ x: [SENT] }) },
        external: mapOf({ secret: mapOf({ echo: SENT }) }),
        options: { extPillar: [mapOf({ echo: null })] },
      },
    ],
    [
      'from an external pillar that the minion named',
      {
        minion: { ext: mapOf({ http_json: 'http://its.own' }) },
        external: mapOf({ secret: SENT }),
        options: { onDemandExtPillar: ['http_json'] },
      },
    ],
  ])('%s', (_where, given) => {
    const { pillar, lines } = compiled({ files: { 'a.sls': '{}' }, ...given });
    const shown = JSON.stringify(comparable(pillar));
    expect(shown).not.toContain('OPEN');
    expect(shown).toContain('BEGIN PGP MESSAGE');
    const told = lines.filter((line) => line.includes('sent itself'));
    expect(told.length).toBeLessThanOrEqual(1);
  });

  test('in a top file', () => {
    const top = { 'top.sls': '#!jinja|gpg|yaml\nbase: {"*": [{{ grains.x | tojson }}]}' };
    const minion = { grains: mapOf({ x: SENT }) };
    const shown = compiled({ files: top, minion }, pillarTop as typeof compilePillar).pillar;
    expect((shown.get('base') as SaltMap).get('*')).toEqual([SENT]);
  });
});

test("the master's own messages are decrypted beside what the minion sent", () => {
  const files = { 'a.sls': `secret: {own: ${json(OWN)}, echo: {{ grains.x | tojson }}}` };
  const minion = { grains: mapOf({ x: SENT }), override: mapOf({ secret: mapOf({ more: SENT }) }) };
  const { pillar, lines } = compiled({ files, minion });
  expect(pillar.get('secret')).toEqual(mapOf({ own: 'OPEN', echo: SENT, more: SENT }));
  expect(lines).toEqual(['PGP messages that minion m sent itself were not decrypted']);
});
