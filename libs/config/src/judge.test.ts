import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { nearestName } from './did-you-mean.ts';
import { refusalOf } from './judge.ts';
import { loadMasterConfig } from './master.ts';
import { masterOptions } from './options/master.ts';
import { standingOf } from './reference/standing-of.ts';
import { masterStandings } from './standings/master.ts';

// Recorded from installed Salts by test/fixtures/master-options/record.py.
const FIXTURE = new URL('../../../test/fixtures/master-options/options.json', import.meta.url);
const RECORDED = JSON.parse(readFileSync(FIXTURE, 'utf8')) as Record<
  string,
  Record<string, { readonly default?: unknown }>
>;

const STATES = /^(?:honoured|partly|not in force|not needed)$/;

let dir: string;
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'brine-judge-'));
});
afterEach(() => {
  rmSync(dir, { recursive: true, force: true });
});

function write(name: string, text: string): void {
  mkdirSync(dirname(join(dir, name)), { recursive: true });
  writeFileSync(join(dir, name), text);
}

/** The warnings about a master's file: kind and text. */
function told(text: string): string[] {
  write('master', text);
  const { warnings } = loadMasterConfig({ configDir: dir, env: {} });
  return warnings.map((warning) => `${warning.kind}: ${warning.text.replaceAll(dir, '')}`);
}

function warningsOf(options: Record<string, unknown>) {
  const lines = Object.entries(options).map(([name, value]) => `${name}: ${JSON.stringify(value)}`);
  write('master', `${lines.join('\n')}\n`);
  return loadMasterConfig({ configDir: dir, env: {} }).warnings;
}

function refused(options: Record<string, unknown>): readonly string[] {
  const found = warningsOf(options).filter(({ kind }) => kind === 'refused');
  return found.flatMap(({ acceptedAs = [] }) => acceptedAs);
}

describe('every option of a Salt master is classified', () => {
  test.each(Object.keys(RECORDED))('of %s', (release) => {
    const names = Object.keys(RECORDED[release] ?? {});
    expect(names.length).toBeGreaterThan(330);
    const unknown = names.filter(
      (name) => !Object.hasOwn(masterOptions, name) && !Object.hasOwn(masterStandings, name),
    );
    expect(unknown).toEqual([]);
  });

  test.each(Object.keys(RECORDED))('of %s, in a word and with the reason', (release) => {
    for (const name of Object.keys(RECORDED[release] ?? {})) {
      const { state, reason } = standingOf(name);
      expect([name, state]).toEqual([name, expect.stringMatching(STATES)]);
      expect([name, state === 'honoured' ? reason === '' : reason.length > 10]).toEqual([
        name,
        true,
      ]);
    }
  });

  test("set to Salt's own default none brings a warning", () => {
    for (const options of Object.values(RECORDED)) {
      const given = Object.entries(options).filter(
        ([name, one]) =>
          Object.hasOwn(one, 'default') && one.default !== null && name in masterStandings,
      );
      const set = Object.fromEntries(given.map(([name, one]) => [name, one.default]));
      expect(warningsOf(set).map(({ text }) => text)).toEqual([]);
    }
  });

  test('set to anything else each that is not in force brings one warning', () => {
    const given = Object.keys(masterStandings).filter((name) => !(name in masterOptions));
    expect(given.length).toBeGreaterThan(160);
    const warnings = warningsOf(Object.fromEntries(given.map((name) => [name, ['other']])));
    const names = warnings.map(({ option }) => option).sort();
    const byParts = ['metrics', 'tracing'];
    expect(names).toEqual(given.filter((name) => !byParts.includes(name)).sort());
  });
});

describe('options without which work or protection is lost stop the start', () => {
  test.each([
    ['ext_processes', ['my.process']],
    ['runner_dirs', ['/srv/runners']],
    ['module_dirs', '/srv/modules'],
    ['outputter_dirs', ['/srv/out']],
    ['extension_modules', '/srv/extmods'],
    ['cluster_peers', ['10.0.0.2']],
    ['cluster_mode', true],
    ['ssl', { certfile: '/x', password: 'hunter2' }],
    ['ssl', true],
    ['ipc_mode', 'tcp'],
    ['fips_mode', true],
    ['eauth_acl_module', 'django'],
    ['keys.cache_driver', 'mysql'],
    ['global_state_conditions', { '*': ['G@os:Debian'] }],
  ])('%s', (name, value) => {
    expect(refused({ [name]: value })).toEqual([name]);
    expect(refused({ [name]: value, brine: { accept_ignored: [name] } })).toEqual([]);
    const accepted = warningsOf({ [name]: value, brine: { accept_ignored: name } });
    expect(accepted.map(({ kind, option }) => [kind, option])).toEqual([['unused', name]]);
    expect(accepted[0]?.text).toContain('accepted by brine.accept_ignored');
    expect(accepted[0]?.text).not.toContain('hunter2');
  });

  test.each([
    ['ext_pillar', [{ cmd_json: 'x' }, { mysql: {} }, { vault: 1, git: [] }], ['mysql', 'vault']],
    ['master_tops', { ext_nodes: 'x', reclass: {} }, ['reclass']],
    ['external_auth', { pam: {}, keystone: {} }, ['keystone']],
    ['fileserver_backend', ['roots', 'hgfs', 's3fs'], ['hgfs', 's3fs']],
    ['fileserver_backend', 'svnfs', ['svnfs']],
    ['renderer', 'mako|yaml', ['mako']],
    ['decrypt_pillar', [{ 'a:b': 'nacl' }, 'c'], ['nacl']],
    ['decrypt_pillar', { 'a:b': 'aws_kms' }, ['aws_kms']],
    ['decrypt_pillar_default', 'nacl', ['nacl']],
    ['schedule', { a: { function: 'x.y', hours: 1 }, b: { hours: 1 } }, ['b.function']],
    ['schedule', { b: { function: 'x.y', when: 'soon' }, c: 5 }, ['b.when', 'c']],
    ['engines', [{ logstash: {} }, { slack: {} }, 'ircbot'], ['slack', 'ircbot']],
    ['engines', { mine: { engine_module: 'sqs_events' } }, ['sqs_events']],
    ['event_return', 'mysql', ['mysql']],
    ['event_return', ['mysql', 'rawfile_json', 'splunk'], ['mysql', 'splunk']],
    ['event_return', ['http'], ['http']],
  ])('%s, by its parts', (name, value, parts) => {
    const names = parts.map((part) => `${name}:${part}`);
    expect(refused({ [name]: value })).toEqual(names);
    expect(refused({ [name]: value, brine: { accept_ignored: names.slice(0, 1) } })).toEqual(
      names.slice(1),
    );
    expect(refused({ [name]: value, brine: { accept_ignored: names } })).toEqual([]);
    expect(refused({ [name]: value, brine: { accept_ignored: [name] } })).toEqual([]);
  });

  test.each([
    { ext_pillar: [{ git: [] }, { file_tree: {} }, { postgres: 'x' }] },
    { ext_pillar: [{ mysql: {} }], exclude_ext_pillar: ['mysql'] },
    { master_tops: { saltclass: { path: '/x' } } },
    { external_auth: { ldap: {}, pki: {} } },
    { fileserver_backend: ['git', 'roots'] },
    { fileserver_backend: 'gitfs' },
    { renderer: 'yaml_jinja' },
    { renderer: 'jinja | yaml' },
    { decrypt_pillar: ['a', { b: 'gpg' }] },
    { ssl: false, cluster_id: '', schedule: {}, engines: null, event_return: '' },
    { reactor: [{ a: ['/b.sls'] }], reactor_worker_threads: 4, reactor_niceness: 5 },
    { reactor: '/srv/reactor.map' },
    { schedule: { a: { function: 'state.orchestrate', cron: '0 4 * * *', maxrunning: 2 } } },
    { schedule: { enabled: false, splay: 5 }, loop_interval: 30 },
    { engines: ['test', { webhook: { port: 8000 } }, { kafka: { brokers: ['a:1'] } }] },
    { engines: { mine: { engine_module: '/srv/engines/mine.mjs' } } },
    { fips_mode: 'no', ipc_mode: 'ipc', tcp_keepalive: false },
    { event_return: 'pgjsonb', 'returner.pgjsonb.host': 'db', event_return_queue: 100 },
    { event_return: ['rawfile_json', 'syslog'], rawfile_json: { filename: '/x' } },
    { event_return: 'http', brine: { event_http: { url: 'https://log.example/' } } },
    { cluster_id: 'one', cluster_pki_dir: '/srv/pki', key_pass: 'a', signing_key_pass: 'b' },
    { cluster_id: 1, cluster_pki_dir: '/srv/pki' },
    { ipv6: true, interface: '::' },
    { ipv6: true, interface: '2001:db8::1', tcp_keepalive_idle: 60, mworker_niceness: 5 },
    { log_file: 'udp://log.example:514/LOG_DAEMON', max_open_files: 4096, verify_env: false },
  ])('but not where all of it is served, or nothing is asked for: %j', (options) => {
    expect(warningsOf(options)).toEqual([]);
  });

  test.each([
    { runner_dirs: ['/srv/runners'], wheel_dirs: '/srv/wheels', outputter_dirs: ['/srv/out'] },
    { module_dirs: ['/x'], pillar_dirs: ['/x'], render_dirs: ['/x'], top_dirs: ['/x'] },
    { utils_dirs: ['/x'], sdb_dirs: ['/x'], extension_modules: '/srv/extmods' },
    { ext_pillar: [{ mysql: {} }], master_tops: { reclass: {} }, renderer: 'mako|yaml' },
    { event_return: ['mysql', 'mine'], returner_dirs: ['/x'] },
    { engines: ['slack_bolt'], engines_dirs: ['/x'] },
    { module_dirs: ['/x'], pass_dir: '/x', cython_enable: true },
  ])('but not where brine.python names an interpreter: %j', (options) => {
    expect(refused(options)).not.toEqual([]);
    expect(warningsOf({ ...options, brine: { python: '/opt/salt/bin/python' } })).toEqual([]);
    expect(refused({ ...options, brine: { python: '' } })).not.toEqual([]);
  });

  test('and modules that an interpreter does not load stop it all the same', () => {
    const python = { brine: { python: '/opt/salt/bin/python' } };
    expect(refused({ queue_dirs: ['/x'], ...python })).toEqual(['queue_dirs']);
    expect(refused({ decrypt_pillar_default: 'nacl', ...python })).toEqual([
      'decrypt_pillar_default:nacl',
    ]);
  });

  test('modules that were synchronised bring a warning and do not stop it', () => {
    write('cache/extmods/runners/mine.py', '');
    write('cache/extmods/grains/mine.py', '');
    const root = { root_dir: dir, cachedir: join(dir, 'cache') };
    const line = {
      kind: 'unused',
      text:
        `Modules in ${join(dir, 'cache/extmods')} (runners) are not loaded: Brine loads modules ` +
        'in Python only by an interpreter; set brine.python',
      file: join(dir, 'master'),
      line: 0,
      option: 'extension_modules',
    };
    expect(warningsOf(root)).toEqual([line]);
    const named = { ...root, extension_modules: join(dir, 'cache/extmods') };
    expect(warningsOf(named)).toEqual([line]);
    expect(warningsOf({ ...root, brine: { python: '/opt/salt/bin/python' } })).toEqual([]);
    rmSync(join(dir, 'cache/extmods/runners'), { recursive: true });
    expect(warningsOf(root)).toEqual([]);
  });

  test('the refusal names all of them at once, where they stand, and the way out', () => {
    write('master.d/more.conf', 'interface: 127.0.0.1\nssl: true\n');
    write('master', 'ext_pillar:\n  - mysql: {}\n');
    const { warnings } = loadMasterConfig({ configDir: dir, env: {} });
    expect(refusalOf(warnings)?.replaceAll(dir, '').split('\n')).toEqual([
      'Not started: work or protection would be lost silently.',
      "  Option 'ext_pillar' (mysql) in /master, line 1, is not in force: pillars lack their " +
        'data and carry an error that stops states; exclude_ext_pillar leaves them out without ' +
        'an error, brine.python makes them by Salt',
      "  Option 'ssl' in /master.d/more.conf, line 2, is not in force: Brine does not use TLS on " +
        'ports 4505 and 4506',
      'Remove these options, or accept to run without them:',
      '  brine:',
      '    accept_ignored: ["ext_pillar:mysql", "ssl"]',
    ]);
    expect(refusalOf([])).toBe(undefined);
  });
});

describe('warnings about the others', () => {
  test('an option that is not in force says what is lost, or how to have the same', () => {
    expect(told('timeout: 3\nworker_threads: 40\nhgfs_remotes: [a]\n')).toEqual([
      "unused: Option 'worker_threads' in /master, line 2, is not in force: brine.workers sets " +
        'the number of worker processes',
      "unused: Option 'hgfs_remotes' in /master, line 3, is not in force: Brine serves files " +
        'from roots and gitfs only',
    ]);
  });

  test('what belongs to another option is in force only with it', () => {
    expect(told('ipv6: true\ncluster_pki_dir: /srv/pki\ntcp_keepalive_cnt: 5\n')).toEqual([
      "unused: Option 'ipv6' in /master, line 1, is not in force: as in Salt it needs an " +
        "interface of IPv6; set interface to '::'",
      "unused: Option 'cluster_pki_dir' in /master, line 2, is not in force: cluster_id is not set",
      "unused: Option 'tcp_keepalive_cnt' in /master, line 3, is not in force: Node sets it " +
        'itself and lets no program change it',
    ]);
  });

  test('an option that is in force in part says which', () => {
    expect(told('master_job_cache: mysql\njinja_sls_env:\n  loops: 1\n')).toEqual([
      "unused: Option 'master_job_cache' (mysql) in /master, line 1, is in force in part: Brine " +
        'keeps jobs in PostgreSQL, not in this cache',
      "unused: Option 'jinja_sls_env' (loops) in /master, line 2, is in force in part: minions " +
        'use these; the master renders pillars without them',
    ]);
    expect(told('jinja_sls_env:\n  trim_blocks: true\npillar_opts: False\n')).toEqual([]);
  });

  test('what runners and orchestrations read is in force, or says in which part', () => {
    const inForce = {
      auth_events_autosign_grains: ['pend'],
      disabled_requisites: ['require'],
      state_max_parallel: 3,
      runner_queue: { queue: 'q' },
      extmod_whitelist: { runners: ['a'] },
      extmod_blacklist: { wheel: ['b'] },
      clean_dynamic_modules: false,
      ca_bundle_url: 'https://a/bundle.pem',
    };
    expect(warningsOf(inForce)).toEqual([]);
    expect(told('test: true\nhttp_request_timeout: 5\nverify_ssl: false\n')).toEqual([
      "unused: Option 'test' in /master, line 1, is in force in part: orchestrations use it; set " +
        "it for minions in the minions' files",
      "unused: Option 'http_request_timeout' in /master, line 2, is in force in part: http.query " +
        'uses it within 16 MiB, 20 s and 300 s; pillars do not',
      "unused: Option 'verify_ssl' in /master, line 3, is in force in part: http.query uses it; " +
        'external pillars do not',
    ]);
  });

  test('a profile of sdb is no unknown option, and says so if its driver is not served', () => {
    expect(warningsOf({ site: { driver: 'yaml', files: [] }, own_env: { driver: 'env' } })).toEqual(
      [],
    );
    expect(told('safe: {driver: vault}\nother: {drivers: env}\n')).toEqual([
      "unused: Option 'safe' in /master, line 1, is not in force: it is no profile of sdb with " +
        'the driver env or yaml',
      "unknown: Unknown option 'other' in /master, line 2",
    ]);
  });

  test('an option that changes nothing has a kind of its own', () => {
    expect(told('gitfs_provider: pygit2\n')).toEqual([
      "harmless: Option 'gitfs_provider' in /master, line 1, is not needed: Brine runs git " +
        'itself, which needs no such setting',
    ]);
  });

  test('a job of the schedule says for each key why it is not in force', () => {
    const job = { function: 'x.y', seconds: 0 };
    const schedule = { a: job, b: { ...job, seconds: 5, job_args: [], returner: 'mysql' } };
    expect(warningsOf({ schedule }).map(({ kind, text }) => `${kind}: ${text}`)).toEqual([
      expect.stringMatching(/^refused: .*'schedule' \(a\).*: its interval is shorter/),
      expect.stringMatching(/^unused: .*'schedule' \(b\.job_args\).*: write args$/),
      expect.stringMatching(/^unused: .*'schedule' \(b\.returner\).*brine\.python/),
    ]);
    const python = { brine: { python: '/opt/salt/bin/python' } };
    expect(warningsOf({ schedule, ...python })).toHaveLength(2);
  });

  test('thorium is no engine, whatever runs Python, and the reactor may be one', () => {
    const python = { brine: { python: '/opt/salt/bin/python' } };
    expect(warningsOf({ engines: ['thorium'], ...python })).toMatchObject([
      { kind: 'refused', text: expect.stringContaining('use the option reactor') },
    ]);
    expect(warningsOf({ engines: ['reactor'] })).toEqual([]);
    expect(warningsOf({ engines: [{ reactor: { worker_threads: 5 } }], ...python })).toEqual([]);
  });

  test('an option of a returner is in force where event_return names it', () => {
    const options = { 'rawfile_json.filename': '/x', 'returner.pgjsonb.sslcrl': '/y' };
    expect(warningsOf({ ...options, event_return: 'rawfile_json' })).toMatchObject([
      { option: 'returner.pgjsonb.sslcrl' },
    ]);
    expect(warningsOf(options)).toMatchObject([
      { option: 'rawfile_json.filename', text: expect.stringContaining('only event_return') },
      { option: 'returner.pgjsonb.sslcrl' },
    ]);
  });

  test('a misspelt option names the one that may be meant', () => {
    expect(told('reactro: []\nauto_acept: true\nbrine:\n  wrokers: 3\nqqq: 1\n')).toEqual([
      "unknown: Unknown option 'brine.wrokers' in /master, line 4; did you mean 'brine.workers'?",
      "unknown: Unknown option 'reactro' in /master, line 1; did you mean 'reactor'?",
      "unknown: Unknown option 'auto_acept' in /master, line 2; did you mean 'auto_accept'?",
      "unknown: Unknown option 'qqq' in /master, line 5",
    ]);
    expect(nearestName('x'.repeat(100_000), Object.keys(masterOptions))).toBe(undefined);
  });

  test('an acceptance of what is not lost brings a warning, so that it can go', () => {
    expect(told('brine:\n  accept_ignored: [ssl, "ext_pillar:git", nosuch]\n')).toEqual(
      ['ssl', 'ext_pillar:git', 'nosuch'].map(
        (name) =>
          `unused: Option 'brine.accept_ignored' in /master, line 2, names '${name}', which is ` +
          'not set or does not stop the start',
      ),
    );
  });

  test('an option of minions in the file of a master has no effect', () => {
    expect(told('startup_states: highstate\n')).toEqual([
      "unused: Option 'startup_states' in /master, line 1, is Salt's but has no effect here",
    ]);
  });
});
