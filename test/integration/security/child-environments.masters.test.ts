// What a running master starts, and what its templates read, holds none of its passwords.
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { PrivateKey } from '@brine/crypt';
import { BrineMaster, saltVenv } from '@brine/testing';
import { TestPeer } from '@brine/testing/peers';
import { until } from '@brine/testing/waits';
import { mapOf } from '@brine/wire';
import { clearEnvelope } from '@brine/wire/frames';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { sealedLoad } from '../../../tools/request-table/aes-frames.ts';
import { sealed } from '../../../tools/request-table/frames.ts';

/** Part of each value that no child may see. */
const MARK = 'hush-5d1c80';
/** What the unit of the master has beside its passwords of NATS and PostgreSQL. */
const UNIT = {
  NATS_MARK: MARK,
  PGPASSWORD: MARK,
  BRINE_MARK: MARK,
  OTEL_EXPORTER_OTLP_HEADERS: `key=${MARK}`,
  VAULT_TOKEN: `${MARK}-of-the-site`,
  AWS_PROFILE: 'of-the-site',
};
const OURS = /^(?:NATS_|DATABASE_URL=|PG|OTEL_|BRINE_(?!CHILD_ENVIRONMENT=))/m;
const PILLAR = `read: {{ salt['environ.get']('NATS_URL', 'none') }}
marks: {{ salt['environ.get']('NATS_MARK') }}{{ salt['environ.get']('VAULT_TOKEN') }}
site: {{ salt['environ.get']('AWS_PROFILE') }}
ran: {{ salt['cmd.run']('sh DUMP cmd.run') | tojson }}
`;
const RUNNER = `
import os

def write(path):
    with open(path, "w") as file:
        file.writelines(f"{name}={value}\\n" for name, value in os.environ.items())
    return True
`;
const ENGINE = `
import { writeFileSync } from 'node:fs';
export function start(engine, { path }) {
  const lines = Object.entries(process.env).map(([name, value]) => name + '=' + value);
  writeFileSync(path, lines.join('\\n') + '\\n');
  return new Promise((resolve) => engine.stopping.addEventListener('abort', resolve));
}
`;

let master: BrineMaster;
let peer: TestPeer;
let seen = '';

function script(path: string, body: string): void {
  writeFileSync(path, `#!/bin/sh\n${body}\n`, { mode: 0o755 });
}

/** What a program of that name got; undefined until it has run. */
function environmentOf(name: string): string | undefined {
  if (!readdirSync(seen).includes(name)) return undefined;
  return readFileSync(join(seen, name), 'utf8');
}

/** Passwords that the master made for its own NATS and PostgreSQL. */
function passwords(): readonly string[] {
  const state = join(master.home.cacheDir, 'brine');
  const nats = readFileSync(join(state, 'nats', 'credentials.json'), 'utf8');
  const postgres = readFileSync(join(state, 'postgres', 'password'), 'utf8').trim();
  return [...Object.values(JSON.parse(nats) as Record<string, string>), postgres];
}

beforeAll(async () => {
  const [{ python }, key] = await Promise.all([saltVenv('3006.30'), PrivateKey.generate(2048)]);
  master = await BrineMaster.start(
    {},
    {
      env: UNIT,
      onHome: ({ configDir, pkiDir }) => {
        seen = join(configDir, 'seen');
        const runners = join(configDir, 'runners');
        for (const dir of [seen, runners]) mkdirSync(dir);
        mkdirSync(join(configDir, 'master.d'), { recursive: true });
        mkdirSync(join(pkiDir, 'minions'), { recursive: true, mode: 0o700 });
        writeFileSync(join(pkiDir, 'minions', 'a'), key.publicKey.pem);
        const dump = join(configDir, 'dump.sh');
        script(
          dump,
          `env > "${seen}/$1.new"; mv "${seen}/$1.new" "${seen}/$1"; echo 'classes: []'`,
        );
        const pam = join(configDir, 'pam.sh');
        script(pam, `cat > /dev/null; sh ${dump} pam; exit 1`);
        writeFileSync(join(runners, 'site.py'), RUNNER);
        writeFileSync(join(configDir, 'site.mjs'), ENGINE);
        writeFileSync(join(configDir, 'pillar', 'top.sls'), "base: {'*': [seen]}\n");
        writeFileSync(join(configDir, 'pillar', 'seen.sls'), PILLAR.replace('DUMP', dump));
        const config = {
          brine: { workers: 1, python, child_environment: ['AWS_*'], eauth: { pam_program: pam } },
          runner_dirs: [runners],
          ext_pillar: [{ cmd_yaml: `sh ${dump} cmd_yaml` }],
          master_tops: { ext_nodes: `sh ${dump} ext_nodes` },
          external_auth: { pam: { someone: ['test.*'] } },
          osenv: { driver: 'env' },
          engines: [
            { script: { cmd: `sh ${dump} script`, interval: 600 } },
            {
              mine: {
                engine_module: join(configDir, 'site.mjs'),
                path: join(seen, 'engine'),
              },
            },
          ],
        };
        const text = JSON.stringify(config);
        writeFileSync(join(configDir, 'master.d', 'site.conf'), `${text}\n`);
      },
    },
  );
  peer = new TestPeer('a', key, master.home.retPort);
  await peer.signIn();
}, 900_000);
afterAll(async () => {
  peer?.close();
  await master?.close();
});

test('templates read what a child would get', async () => {
  const { stdout } = await master.brine('run', ['pillar.show_pillar', 'a', '--out', 'json']);
  const pillar = JSON.parse(stdout) as Record<string, unknown>;
  expect(pillar).toMatchObject({ read: 'none', site: 'of-the-site', ran: 'classes: []' });
  expect(pillar['marks']).toBeNull();
});

test('a store of variables has those of the site alone', async () => {
  const read = async (name: string): Promise<string> =>
    (await master.brine('run', ['sdb.get', `sdb://osenv/${name}`])).stdout;
  expect(await read('AWS_PROFILE')).toContain('of-the-site');
  const shown = await Promise.all(['NATS_URL', 'DATABASE_URL', 'PGPASSWORD'].map(read));
  expect(shown.join('')).not.toMatch(/hush|nats:\/\/|postgres(?:ql)?:\/\//);
});

const CHILDREN: readonly (readonly [string, () => Promise<unknown> | undefined])[] = [
  ['cmd.run', () => undefined],
  ['cmd_yaml', () => undefined],
  [
    'ext_nodes',
    () => {
      const load = sealedLoad(peer, '_master_tops', {});
      const how = { sealedWith: peer.session, version: 3, outerId: 'a' };
      return peer.raw(sealed(load, how).body);
    },
  ],
  [
    'pam',
    () => {
      const login = { eauth: 'pam', username: 'someone', password: 'x' };
      return peer.raw(clearEnvelope(mapOf({ cmd: 'mk_token', ...login })));
    },
  ],
  ['runner', () => master.brine('run', ['site.write', join(seen, 'runner')])],
  ['script', () => undefined],
  ['engine', () => undefined],
];

test.each(CHILDREN)('%s gets its list of variables and no password', async (name, run) => {
  await run();
  await until(`${name} has run`, () => environmentOf(name) !== undefined, { withinMs: 60_000 });
  const got = environmentOf(name) ?? '';
  expect(got).toMatch(/^PATH=/m);
  expect(got).toMatch(/^AWS_PROFILE=of-the-site$/m);
  expect(got).not.toContain(MARK);
  expect(got.split('\n').filter((line) => OURS.test(line))).toEqual([]);
  const known = passwords();
  expect(known.length).toBeGreaterThan(3);
  expect(known.filter((one) => got.includes(one))).toEqual([]);
});
