import { randomBytes } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { newestOf, saltVenv } from '@brine/testing';
import { TestPeer } from '@brine/testing/peers';
import type { SoughtSecret } from '@brine/testing/sinks';
import { mapOf, type SaltValue } from '@brine/wire';
import { clearEnvelope } from '@brine/wire/frames';
import type { StockCli } from './stock-cli.ts';
import { type Json, python } from './stock-tools.ts';

/** The release whose commands and Python clients are run. */
export const RELEASE = newestOf('3008');
const CALLS = fileURLToPath(new URL('secret-calls.py', import.meta.url));
/** Their own logs are no part of the master. */
const NO_LOG = ['--log-file', '/dev/null', '--log-file-level', 'quiet'];

/** The second line of a private key in JSON: the first is alike in all. */
const PRIVATE_LINE = /-----BEGIN [A-Z ]*PRIVATE KEY-----\\n[^\\]+\\n([A-Za-z0-9+/]{60,})\\n/;

const made = (what: string): string => `${what}-${randomBytes(9).toString('hex')}`;

/** Passwords of users of the file, and of log-ins that fail. */
export const PASSWORDS = {
  // Signs that JSON, YAML, Python and URLs escape.
  anne: made(`an"ne's\\ pä/ss`),
  // For command lines, which read YAML.
  tom: made('toms-password'),
  wrong: made('wrong-password'),
  pam: made('pam-password'),
  auto: made('auto-password'),
} as const;

/** Texts in arguments: of functions that take secrets, and of any other function. */
export const ARGUMENTS = { hidden: made('hidden-argument'), plain: made('plain-argument') };

/** Runs everything that carries a secret, and collects the secrets that come of it. */
export class SecretCalls {
  readonly #cli: StockCli;
  readonly #tokens = new Map<string, string>();
  /** A line of each private key that a wheel made. */
  readonly #keys = new Map<string, string>();
  /** What came of each call, by its name. */
  readonly outcomes = new Map<string, unknown>();

  constructor(cli: StockCli) {
    this.#cli = cli;
  }

  /** The users of the file that `external_auth: file:` names. */
  static users(): string {
    return `anne:${PASSWORDS.anne}\ntom:${PASSWORDS.tom}\n`;
  }

  /** All of it, in turn: two cores would take no less time for all at once. */
  async run(): Promise<void> {
    await this.#commands();
    await this.#ownCommands();
    await this.#clients();
    await this.#clearLoads();
    await this.#minions();
  }

  /** Passwords, tokens, local keys, the master's key and the credentials of its servers. */
  secrets(): SoughtSecret[] {
    const { cacheDir, pkiDir } = this.#cli.master.home;
    const found: SoughtSecret[] = Object.entries(PASSWORDS).map(([name, value]) => {
      return { name: `password ${name}`, value };
    });
    for (const [name, value] of this.#tokens) found.push({ name: `token ${name}`, value });
    for (const [name, value] of this.#keys) found.push({ name, value });
    for (const file of readdirSync(cacheDir).filter((name) => /^\..*_key$/.test(name))) {
      const value = readFileSync(join(cacheDir, file), 'utf8').trim();
      found.push({ name: `local key ${file}`, value });
    }
    const pem = readFileSync(join(pkiDir, 'master.pem'), 'utf8').trim().split('\n').slice(1, -1);
    // The last lines are short; any of the others gives the key away.
    pem.slice(0, -1).forEach((value, at) => found.push({ name: `master key:${at + 2}`, value }));
    const users = readFileSync(join(cacheDir, 'brine/nats/credentials.json'), 'utf8');
    for (const [user, value] of Object.entries(JSON.parse(users) as Record<string, string>)) {
      found.push({ name: `NATS user ${user}`, value });
    }
    const value = readFileSync(join(cacheDir, 'brine/postgres/password'), 'utf8').trim();
    found.push({ name: 'PostgreSQL', value });
    for (const [name, text] of Object.entries(ARGUMENTS)) {
      found.push({ name: `argument ${name}`, value: text });
    }
    return found;
  }

  async #stock(name: string, command: string, ...args: readonly string[]): Promise<string> {
    // salt-key logs nothing to its terminal.
    const level = command === 'salt-key' ? [] : ['--log-level', 'quiet'];
    const given = [...NO_LOG, ...level, ...args];
    const { stdout, stderr } = await this.#cli.run(RELEASE, command, given);
    this.outcomes.set(name, `${stdout}${stderr}`);
    return stdout;
  }

  async #commands(): Promise<void> {
    const anne = ['-a', 'file', '--username', 'anne', '--password', PASSWORDS.anne];
    const ping = ['fast-1', 'test.ping', '-t', '20'];
    const login = (eauth: string, user: string, password: string): string[] => {
      return ['-a', eauth, '--username', user, '--password', password];
    };
    await this.#stock('salt login', 'salt', ...anne, ...ping);
    await this.#stock('salt wrong', 'salt', ...login('file', 'anne', PASSWORDS.wrong), ...ping);
    await this.#stock('salt pam', 'salt', ...login('pam', 'nobody', PASSWORDS.pam), ...ping);
    await this.#stock('salt auto', 'salt', ...login('auto', 'any', PASSWORDS.auto), ...ping);
    await this.#stock('salt-key login', 'salt-key', ...anne, '-L');
    await this.#stock('salt-run login', 'salt-run', ...anne, 'test.arg', 'x');
    await this.#stock('salt make token', 'salt', '-T', ...anne, ...ping);
    const home = join(this.#cli.master.sandbox.dir, 'home');
    const kept = await readdir(home, { recursive: true });
    const file = kept.find((path) => path.endsWith('salt_token')) ?? 'no salt_token';
    this.#tokens.set('of salt -T', (await readFile(join(home, file), 'utf8')).trim());
    await this.#stock('salt token', 'salt', '-a', 'file', ...ping);
    await this.#stock('salt-run token', 'salt-run', '-a', 'file', 'test.arg', 'x');
    await this.#stock('salt-key token', 'salt-key', '-a', 'file', '-L');
    const tom = ['username=tom', `password=${PASSWORDS.tom}`, 'eauth=file'];
    const printed = await this.#stock('mk_token', 'salt-run', 'auth.mk_token', ...tom);
    const token = this.#token('of salt-run', printed);
    await this.#stock('del_token', 'salt-run', 'auth.del_token', token);
    const remote = await this.#stock(
      'mk_token remote',
      'salt-run',
      ...anne,
      'auth.mk_token',
      ...tom,
    );
    this.#token('of salt-run -a', remote);
    for (const args of [
      ['list'],
      ['add', 'my/*', 'reactors=/srv/my.sls'],
      ['delete', 'my/*'],
      ['is_leader'],
      ['set_leader', 'True'],
    ]) {
      await this.#stock(`reactor.${args[0]}`, 'salt-run', `reactor.${args[0]}`, ...args.slice(1));
    }
    const query = ['http://127.0.0.1:9/', 'username=x', `password=${ARGUMENTS.hidden}`];
    await this.#stock('http.query', 'salt-run', 'http.query', ...query);
    await this.#stock('arguments', 'salt', 'fast-1', 'test.echo', ARGUMENTS.plain);
    await this.#stock('runner arguments', 'salt-run', 'test.arg', ARGUMENTS.plain);
  }

  async #ownCommands(): Promise<void> {
    const { master } = this.#cli;
    const own = async (name: string, command: string, ...args: readonly string[]) => {
      const { stdout, stderr } = await master.brine(command, args);
      this.outcomes.set(name, `${stdout}${stderr}`);
      return stdout;
    };
    const anne = ['-a', 'file', '--username', 'anne', '--password', PASSWORDS.anne];
    const tom = ['username=tom', `password=${PASSWORDS.tom}`, 'eauth=file'];
    await own('brine salt', 'salt', ...anne, 'fast-1', 'test.ping');
    const printed = await own('brine mk_token', 'run', 'auth.mk_token', ...tom);
    const token = this.#token('of brine run', printed);
    await own('brine mk_token login', 'run', ...anne, 'auth.mk_token', ...tom).then((text) =>
      this.#token('of brine run -a', text),
    );
    await own('brine token', 'run', '-a', 'file', 'test.arg');
    await own('brine del_token', 'run', 'auth.del_token', token);
    const query = ['http://127.0.0.1:9/', 'username=x', `password=${ARGUMENTS.hidden}`];
    await own('brine http.query', 'run', 'http.query', ...query);
  }

  async #clients(): Promise<void> {
    const { master } = this.#cli;
    const input = JSON.stringify({
      config: join(master.sandbox.dir, `cli-${RELEASE}`),
      user: 'anne',
      password: PASSWORDS.anne,
      wrong: PASSWORDS.wrong,
      plain_user: 'tom',
      plain_password: PASSWORDS.tom,
      token: this.#tokens.get('of salt -T'),
      key: readFileSync(join(master.home.cacheDir, '.root_key'), 'utf8').trim(),
      local_user: 'root',
    });
    const venv = await saltVenv(RELEASE);
    const { stdout } = await python(venv, [CALLS], input, master.sandbox.env());
    const outcomes = JSON.parse(stdout.slice(stdout.lastIndexOf('\n{') + 1)) as Json;
    for (const [name, outcome] of Object.entries(outcomes)) {
      this.outcomes.set(name, outcome);
      const isNew = name.startsWith('token ') && name !== 'token asked';
      if (isNew && isTokenData(outcome)) this.#tokens.set(name, outcome.token);
      const line = PRIVATE_LINE.exec(JSON.stringify(outcome))?.[1];
      if (line !== undefined) this.#keys.set(name, line);
    }
  }

  /** As a user of `publisher_acl` sends them, and as one that is refused. */
  async #clearLoads(): Promise<void> {
    const { home } = this.#cli.master;
    const key = readFileSync(join(home.cacheDir, '.nobody_key'), 'utf8').trim();
    const rootKey = readFileSync(join(home.cacheDir, '.root_key'), 'utf8').trim();
    const peer = await TestPeer.make('raw', home.retPort);
    const job = { tgt: 'fast-1', fun: 'test.ping', arg: [], ret: '', jid: '', user: 'nobody' };
    const fields = { password: PASSWORDS.anne, token: this.#tokens.get('of salt -T') ?? '' };
    const loads: Record<string, SaltValue>[] = [
      { cmd: 'publish', ...job, key },
      { cmd: 'publish', ...job, fun: 'cmd.run', key },
      { cmd: 'publish', ...job, key, kwargs: mapOf({ ...fields, key: rootKey }) },
      { cmd: 'publish', ...job, user: 'root', key: rootKey, kwargs: mapOf(fields) },
      { cmd: 'publish', ...job, fun: mapOf({ a: fields.password }), key: rootKey, user: 'root' },
      { cmd: 'runner', fun: 'test.arg', kwarg: mapOf({}), key: rootKey, user: 'root', ...fields },
      { cmd: 'wheel', fun: 'key.list_all', key: rootKey, user: 'root', ...fields },
      { cmd: 'wheel', fun: 'no.such', eauth: 'file', username: 'anne', ...fields },
      { cmd: 'mk_token', eauth: 'file', username: 'anne', password: PASSWORDS.wrong },
      { cmd: 'mk_token', eauth: 'file', username: 'anne', password: [PASSWORDS.anne] },
      { cmd: 'get_token', token: fields.token },
      { cmd: 'no_such', key: rootKey, ...fields },
    ];
    try {
      for (const load of loads) await peer.raw(clearEnvelope(mapOf(load)));
    } finally {
      peer.close();
    }
  }

  /** A stock salt-call, and the peer interface that it asks. */
  async #minions(): Promise<void> {
    const { master } = this.#cli;
    const venv = await saltVenv(RELEASE);
    const home = await master.sandbox.minion('caller', master.home.retPort);
    for (const args of [
      ['test.echo', ARGUMENTS.plain],
      ['publish.publish', 'fast-1', 'test.echo', ARGUMENTS.plain],
      ['publish.runner', 'test.arg', ARGUMENTS.plain],
      ['event.send', 'my/tag', `password=${ARGUMENTS.plain}`],
    ]) {
      const { stdout, stderr } = await master.sandbox.run(venv, 'salt-call', home, args);
      this.outcomes.set(`salt-call ${args[0]}`, `${stdout}${stderr}`);
    }
  }

  /** The token that a command printed. */
  #token(name: string, printed: string): string {
    const token = /token:\s+([0-9a-f]{32,128})/.exec(printed)?.[1];
    // Not printed: it may hold a part of it.
    if (token === undefined) throw new Error(`no token ${name} was printed`);
    this.#tokens.set(name, token);
    return token;
  }
}

function isTokenData(value: unknown): value is { readonly token: string } {
  return typeof value === 'object' && value !== null && 'token' in value;
}
