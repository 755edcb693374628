import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { masterOptions, masterStandings } from '@brine/config';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { type Printed, printedBy } from '../printed.fixture.ts';

let dir: string;
beforeEach(() => void (dir = mkdtempSync(join(tmpdir(), 'config-'))));
afterEach(() => {
  vi.unstubAllEnvs();
  rmSync(dir, { recursive: true, force: true });
});

function config(...args: readonly string[]): Promise<Printed> {
  return printedBy(['config', ...args]);
}

describe('brine config show', () => {
  test('says of each option where its value comes from', async () => {
    mkdirSync(join(dir, 'master.d'));
    writeFileSync(join(dir, 'master'), 'ret_port: 5506\nbrine:\n  workers: 3\n');
    writeFileSync(join(dir, 'master.d', 'a.conf'), '# more\nnodegroups:\n  Web: L@a\n');
    vi.stubEnv('BRINE_TRACE', 'all');
    const { code, out } = await config('show', '-c', dir);
    expect(code).toBe(0);
    const lines = out.split('\n');
    expect(lines).toContain('publish_port: 4505  # default');
    expect(lines).toContain(`ret_port: 5506  # ${dir}/master:1`);
    expect(lines).toContain(`brine.workers: 3  # ${dir}/master:3`);
    expect(lines).toContain(`nodegroups: {"Web":"L@a"}  # ${dir}/master.d/a.conf:2`);
    expect(lines).toContain('brine.trace: all  # BRINE_TRACE');
    expect(lines).toContain('brine.state_dir: /var/cache/salt/master/brine  # default');
    expect(lines).toContain('auth.ldap.server: localhost  # default');
  });

  test('shows options that are set, or those named, in the outputter of choice', async () => {
    writeFileSync(join(dir, 'master'), 'ret_port: 5506\n');
    const set = await config('show', '--set', '-c', dir, '--out', 'json');
    expect(JSON.parse(set.out)).toEqual({
      ret_port: { value: 5506, source: `${dir}/master:1` },
    });
    const named = await config('show', 'brine.metrics', '-c', dir, '--out=yaml');
    expect(named.out).toBe(
      [
        'brine.metrics.host:',
        '  source: default',
        '  value: 127.0.0.1',
        'brine.metrics.per_minion:',
        '  source: default',
        '  value: auto',
        'brine.metrics.port:',
        '  source: default',
        '  value: 0',
        '',
      ].join('\n'),
    );
  });

  test('masks passwords, those in URLs and maps too', async () => {
    const secrets = [
      'sharedsecret: hush-1',
      'auth.ldap.bindpw: hush-2',
      'git_pillar_password: hush-3',
      'postgres:\n  user: u\n  pass: hush-4',
      'gitfs_remotes:\n  - https://user:hush-5@git.example/a.git:\n    - password: hush-6',
      'brine:\n  postgres:\n    url: postgres://u:hush-7@db/brine?password=hush-8',
      'ext_pillar:\n  - http_json:\n      url: https://a.example/?token=hush-9',
      'key_pass: hush-0',
    ];
    writeFileSync(join(dir, 'master'), `${secrets.join('\n')}\n`);
    for (const out of [[], ['--out', 'json'], ['--out', 'nested']]) {
      const said = await config('show', '-c', dir, ...out);
      expect(said.out).not.toMatch(/hush/);
      expect(said.out).toMatch(/db\/brine/);
    }
  });

  test('a configuration that does not load is an error', async () => {
    writeFileSync(join(dir, 'master'), 'ret_port: many\n');
    const { code, out, err } = await config('show', '-c', dir);
    expect([code, out]).toEqual([1, '']);
    expect(err).toContain("Option 'ret_port'");
  });

  test('an option that is not there is an error', async () => {
    const { code, err } = await config('show', 'workers', '-c', dir);
    expect(code).toBe(1);
    expect(err).toBe("brine config: No option 'workers'; did you mean 'brine.workers'?\n");
  });
});

describe('brine config check', () => {
  test('names each option that is not in force, counts the others, and says if a master starts', async () => {
    const inForce = 'timeout: 9\ninterface: "::"\nipv6: true\nssh_port: 22\n';
    writeFileSync(join(dir, 'master'), `${inForce}worker_threads: 40\nworker_pools: {a: 1}\n`);
    const { code, out } = await config('check', '-c', dir);
    expect(code).toBe(0);
    expect(out).toContain(
      `warn  worker_threads: Option 'worker_threads' in ${dir}/master, line 5,`,
    );
    expect(out).toContain('warn  worker_pools: ');
    expect(out).toMatch(
      /\n6 options of Salt are set: 2 honoured, 2 ask for what Brine does anyway, 2 not, /,
    );
    const others = Object.keys(masterStandings).filter((name) => !(name in masterOptions));
    const lines = others.map((name) => `${name}: ["other"]\n`);
    writeFileSync(join(dir, 'master'), lines.join(''));
    const all = await config('check', '-c', dir);
    // These two are missed only where they are switched on.
    const named = others.filter((name) => name !== 'metrics' && name !== 'tracing');
    expect(named.length).toBeGreaterThan(60);
    expect(named.filter((name) => !all.out.includes(`  ${name}: Option '${name}'`))).toEqual([]);
    writeFileSync(join(dir, 'master'), 'ssl: true\n');
    const refused = await config('check', '-c', dir);
    expect([refused.code, refused.out.split(':')[0]]).toEqual([1, 'bad   ssl']);
  });
});

describe('brine config explain', () => {
  test('says type, default, meaning and whether the option is in force', async () => {
    const { code, out } = await config('explain', 'publish_port', 'ipv6');
    expect(code).toBe(0);
    expect(out).toMatch(/^publish_port\n {2}integer; default `4505`\n {2}\S.+\n {2}In force\.\n/);
    expect(out).toMatch(/ipv6\n.*\n.*\n {2}In force in part: as in Salt it needs an interface /);
  });

  test('knows options below brine, and all of a table', async () => {
    const one = await config('explain', 'brine.metrics.port');
    expect(one.out).toContain('variable `BRINE_METRICS_PORT`');
    const all = await config('explain', 'brine.metrics');
    expect(all.out).toContain('brine.metrics.port\n');
    expect(all.out).toContain('brine.metrics.per_minion\n');
  });

  test("says of Salt's options that are not read why", async () => {
    const { code, out } = await config('explain', 'ssh_port');
    expect([code, out]).toEqual([
      0,
      'ssh_port\n  An option of Salt. Not in force: Brine has no salt-ssh.\n',
    ]);
    expect((await config('explain', 'ssl')).out).toContain('brine.accept_ignored');
    expect((await config('explain', 'master_port')).out).toContain('Of the minion:\nmaster_port');
  });

  test('an unknown name is an error that names the option that may be meant', async () => {
    const said = await config('explain', 'publish_prot');
    expect([said.code, said.out]).toEqual([1, '']);
    expect(said.err).toContain("did you mean 'publish_port'?");
    expect((await config('explain', 'zzz')).err).toBe("brine config: No option 'zzz'\n");
    expect((await config('explain', 'brine.nats.via')).err).toContain('brine.testing.nats_via');
  });

  test('without a name it shows how it is used', async () => {
    expect((await config('explain')).code).toBe(64);
    expect((await config('--help')).out).toContain('|explain <option>...');
  });
});
