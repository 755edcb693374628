import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PyFunction } from '@brine/jinja';
import type { PillarOptions, PillarPorts } from '@brine/pillar';
import { mapOf, type SaltMap, type SaltValue } from '@brine/wire';
import { expect, onTestFinished, test } from 'vitest';
import { FILE_FILTERS } from './filters/file-filters.ts';
import { Externals, type ExternalsData } from './pillar-externals.ts';

/** Everything that a template could get of the master's host. */
const TEMPLATE = `
{%- if 'cmd.run' in salt %}shell: {{ salt['cmd.run']('id') }}
{% endif %}
{%- if 'which' is filter %}filter: {{ 'sh' | which }}
{% endif %}
{%- if opts.secret is defined %}opt: {{ opts.secret }}
{% endif %}
id: {{ opts.id }}
`;

test('nothing of a repository that a minion chose is decrypted or runs on the host', () => {
  const dir = mkdtempSync(join(tmpdir(), 'brine-chosen-'));
  onTestFinished(() => rmSync(dir, { recursive: true, force: true }));
  writeFileSync(join(dir, 'top.sls'), "base: {'*': [a, b, c]}\n");
  writeFileSync(join(dir, 'a.sls'), '#!yaml|gpg\nsecret: sealed\n');
  writeFileSync(join(dir, 'b.sls'), '#!lines\nran\n');
  writeFileSync(join(dir, 'c.sls'), TEMPLATE);
  const gitDefaults = { base: 'main', branch: 'main', env: '', fallback: '', root: '' };
  const checkout = (): string => dir;
  const settings = { pillarRoots: {}, nodegroups: {}, checkout, log: () => undefined };
  const options = {
    rendererBlacklist: [],
    rendererWhitelist: [],
    renderer: 'jinja|yaml',
    stateTop: 'top.sls',
    mergingStrategy: 'smart',
    envOrder: [],
    nodegroups: {},
    extPillar: [],
    decrypt: { keys: [], delimiter: ':', renderers: ['gpg'] },
    opts: mapOf({ secret: 'of the master' }),
    pillarenv: null,
    onDemandExtPillar: ['git'],
  } as unknown as PillarOptions;
  const data = { gitDefaults, gitIncludes: false } as unknown as ExternalsData;
  const ports = {
    outside: { now: () => 0, random: () => 0, filters: FILE_FILTERS },
    functions: () => new Map([['cmd.run', new PyFunction('cmd.run', () => 'root')]]),
    decrypt: () => mapOf({ secret: 'open' }),
    python: { render: () => mapOf({ ran: true }), knows: () => false, call: () => null },
    log: () => undefined,
  } as unknown as PillarPorts;
  const asking = (args: SaltValue, ext: SaltMap | null): SaltValue | undefined => {
    const minion = { id: 'a', grains: mapOf({}), saltenv: null, pillarenv: null, ext };
    const externals = new Externals(data, settings, options);
    return externals.ask('git', { ...minion, override: mapOf({}) }, args, {
      ports,
      pillar: mapOf({}),
    });
  };
  const args = [`main ${dir}`];
  expect(asking(args, null)).toEqual(
    mapOf({
      secret: 'open',
      ran: true,
      shell: 'root',
      filter: '/usr/bin/sh',
      opt: 'of the master',
      id: 'a',
    }),
  );
  expect(asking(args, mapOf({ git: args }))).toEqual(mapOf({ secret: 'sealed', id: 'a' }));
});
