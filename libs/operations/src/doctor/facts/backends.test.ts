import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { loadMasterConfig } from '@brine/config';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { backendsOf } from './backends.ts';

let dir: string;
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'brine-backends-'));
});
afterEach(() => rmSync(dir, { recursive: true, force: true }));

function named(config: string): string[] {
  writeFileSync(join(dir, 'master'), `root_dir: ${dir}\n${config}`);
  const { options } = loadMasterConfig({ configDir: dir, env: {} });
  return backendsOf(options).map(({ option, host, port }) => `${option} ${host}:${port}`);
}

test('a configuration that names no server has none', () => {
  expect(named('interface: 0.0.0.0\n')).toEqual([]);
});

test('git remotes are found as URLs, as keys of maps, and as ssh has them', () => {
  const config = `gitfs_remotes:
  - https://git.example/a.git
  - git@code.example:team/b.git:
    - root: salt
  - ssh://git@code.example:2222/c.git
ext_pillar:
  - git:
    - main https://pillar.example:8443/p.git
`;
  expect(named(config).sort()).toEqual([
    'ext_pillar pillar.example:8443',
    'gitfs_remotes code.example:22',
    'gitfs_remotes code.example:2222',
    'gitfs_remotes git.example:443',
  ]);
});

test('servers of Brine may be several, and their passwords are no hosts', () => {
  const config = `brine:
  nats: { url: "tls://n1.example:4223,n2.example" }
  postgres: { url: "postgres://u:p%40ss@db1.example,db2.example:5433/brine" }
`;
  expect(named(config)).toEqual([
    'brine n1.example:4223',
    'brine n2.example:4222',
    'brine db1.example:5432',
    'brine db2.example:5433',
  ]);
});

test('options with host and port apart are known', () => {
  expect(named('auth.ldap.server: ldap.example\nauth.ldap.port: 3268\n')).toContain(
    'auth.ldap.server ldap.example:3268',
  );
  expect(named('syndic_master: [up.example, up2.example]\n')).toEqual([
    'syndic_master up.example:4506',
    'syndic_master up2.example:4506',
  ]);
});

test('ports that are none, schemes without a port and files are left out', () => {
  const config = 'winrepo_remotes: ["file:///srv/x", "gopher://a", "https://b.example:99999/"]\n';
  expect(named(config)).toEqual([]);
});

test('one server is named once, and no more than fifty', () => {
  const many = Array.from({ length: 80 }, (_, at) => `  - https://h${at % 60}.example/x\n`).join(
    '',
  );
  expect(named(`gitfs_remotes:\n${many}`)).toHaveLength(50);
});
