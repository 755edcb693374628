import { AndFilter, Client, type Entry, EqualityFilter } from 'ldapts';
import { type Credentials, type KnownUser, LoginError, type LoginModule } from './login-module.ts';

/** `auth.ldap.*` of the master's configuration. */
export interface LdapOptions {
  readonly url: string;
  readonly startTls: boolean;
  readonly verify: boolean;
  readonly baseDn: string;
  /** A DN, or one with `{{ username }}` in it where there is no `bindPassword`. */
  readonly bindDn: string;
  readonly bindPassword: string;
  /** A filter with `{{ username }}` in it, for the user's own entry. */
  readonly filter: string;
  readonly scope: 'base' | 'one' | 'sub';
  readonly groupOu: string;
  readonly accountAttribute: string;
  readonly groupAttribute: string;
  readonly personType: string;
  readonly groupClass: string;
  readonly activeDirectory: boolean;
  readonly freeIpa: boolean;
  readonly groupBaseDn: string;
  readonly groupFilter: string;
}

/** For each step; the whole login has its own bound. */
const STEP_TIMEOUT_MS = 5_000;

/** Groups of one user. */
const ENTRIES_MAX = 1_000;

/** Read at a time: some 600 messages of the shortest kind. */
const PIECE_BYTES = 4_096;

/** What could end or widen a DN or a filter is part of no name here. */
const NAME = /^[^\\,+"<>;=#*()\0/]+$/;

/**
 * Users of a directory (salt/auth/ldap.py): the service account searches the user's entry, or its
 * DN is made of the name. A bind with the password proves the user. The directory lists the groups
 * of the user.
 */
export class Ldap implements LoginModule {
  readonly #options: LdapOptions;

  constructor(options: LdapOptions) {
    this.#options = options;
  }

  async check({ username, password }: Credentials, signal: AbortSignal) {
    // A bind without a password always succeeds: it is an anonymous one (RFC 4513 5.1.2).
    if (password === '' || !NAME.test(username.trim()) || username.trim() !== username) {
      return undefined;
    }
    const { bindDn, bindPassword } = this.#options;
    if (bindDn === '') throw new LoginError('auth.ldap.binddn is not set');
    const user = await this.#connect(signal);
    const service = bindPassword === '' ? undefined : await this.#connect(signal);
    try {
      if (service !== undefined && !(await bound(service, bindDn, bindPassword))) {
        throw new LoginError('external_auth:ldap: the directory refuses auth.ldap.binddn');
      }
      const dn =
        service === undefined ? rendered(bindDn, username) : await this.#dnOf(service, username);
      if (dn === undefined || !(await bound(user, dn, password))) return undefined;
      const groups = await this.#groupsOf(service ?? user, username);
      return { name: username, groups } satisfies KnownUser;
    } finally {
      await Promise.allSettled([user.unbind(), service?.unbind()]);
    }
  }

  async #connect(signal: AbortSignal): Promise<Client> {
    const { url, verify, startTls } = this.#options;
    const tlsOptions = { rejectUnauthorized: verify };
    const client = new Client({
      url,
      timeout: STEP_TIMEOUT_MS,
      connectTimeout: STEP_TIMEOUT_MS,
      ...(url.startsWith('ldaps:') ? { tlsOptions } : {}),
    });
    readInPieces(client);
    signal.addEventListener('abort', () => void client.unbind().catch(() => undefined));
    if (startTls) await answered(client.startTLS(tlsOptions));
    return client;
  }

  async #dnOf(service: Client, username: string): Promise<string | undefined> {
    const { baseDn, filter, scope } = this.#options;
    const found = await answered(
      service.search(baseDn, { scope, filter: rendered(filter, username), sizeLimit: 2 }),
    );
    const [first, second] = found.searchEntries;
    return second === undefined ? first?.dn : undefined;
  }

  async #groupsOf(client: Client, username: string): Promise<readonly string[]> {
    const { activeDirectory, freeIpa } = this.#options;
    if (activeDirectory) return this.#activeDirectoryGroups(client, username);
    return freeIpa ? this.#freeIpaGroups(client, username) : this.#posixGroups(client, username);
  }

  async #activeDirectoryGroups(client: Client, username: string): Promise<readonly string[]> {
    const { accountAttribute, personType, groupClass } = this.#options;
    const [person] = await this.#search(client, this.#options.baseDn, [
      [accountAttribute, username],
      ['objectClass', personType],
    ]);
    if (person === undefined) return [];
    const groups = await this.#search(client, this.#options.baseDn, [
      ['member', person.dn],
      ['objectClass', groupClass],
    ]);
    return groups.flatMap((entry) => valuesOf(entry, 'cn').slice(0, 1));
  }

  async #posixGroups(client: Client, username: string): Promise<readonly string[]> {
    const { accountAttribute, groupAttribute, groupClass, groupOu, baseDn } = this.#options;
    const base = groupOu === '' ? baseDn : `ou=${groupOu},${baseDn}`;
    const entries = await this.#search(client, base, [
      [accountAttribute, username],
      ['objectClass', groupClass],
    ]);
    const members = entries.filter((one) => valuesOf(one, accountAttribute).includes(username));
    const own = entries.filter((one) => firstValue(one.dn) === username);
    return [
      ...members.flatMap((entry) => valuesOf(entry, 'cn').slice(0, 1)),
      ...own.flatMap((entry) => valuesOf(entry, groupAttribute).map(firstValue)),
    ];
  }

  async #freeIpaGroups(client: Client, username: string): Promise<readonly string[]> {
    const { groupBaseDn, groupFilter, accountAttribute, groupAttribute } = this.#options;
    const filter = rendered(groupFilter, username);
    const { searchEntries } = await answered(
      client.search(groupBaseDn, { scope: 'sub', filter, sizeLimit: ENTRIES_MAX }),
    );
    const isMember = (entry: Entry): boolean =>
      [accountAttribute, groupAttribute]
        .flatMap((name) => valuesOf(entry, name))
        .some((member) => firstValue(member) === username);
    return searchEntries.filter(isMember).map((entry) => firstValue(entry.dn));
  }

  async #search(
    client: Client,
    base: string,
    terms: readonly (readonly [attribute: string, value: string])[],
  ): Promise<Entry[]> {
    const filters = terms.map(([attribute, value]) => new EqualityFilter({ attribute, value }));
    const filter = new AndFilter({ filters });
    const options = { scope: 'sub', filter, sizeLimit: ENTRIES_MAX } as const;
    return (await answered(client.search(base, options))).searchEntries;
  }
}

/**
 * Hands what the directory sends to the parser in pieces: ldapts calls itself for each message of
 * what it is handed, and thousands of short ones ended the process.
 */
function readInPieces(client: Client): void {
  const read: unknown = Reflect.get(client, 'socketDataHandler');
  if (typeof read !== 'function') throw new Error('ldapts reads in another way');
  const inPieces = (data: Buffer): void => {
    for (let at = 0; at < data.length; at += PIECE_BYTES) {
      Reflect.apply(read, client, [data.subarray(at, at + PIECE_BYTES)]);
    }
  };
  Reflect.set(client, 'socketDataHandler', inPieces);
}

/** Whether the directory takes a DN and a password. Rejects where it does not answer at all. */
async function bound(client: Client, dn: string, password: string): Promise<boolean> {
  try {
    await client.bind(dn, password);
    return true;
  } catch (cause) {
    // Result codes of the directory are numbers; everything else is a lost connection.
    if (cause instanceof Error && 'code' in cause && typeof cause.code === 'number') return false;
    throw new LoginError('external_auth:ldap: the directory does not answer', { cause });
  }
}

async function answered<T>(answer: Promise<T>): Promise<T> {
  try {
    return await answer;
  } catch (cause) {
    throw new LoginError('external_auth:ldap: the directory does not answer', { cause });
  }
}

/** The one variable of Salt's templates; `NAME` keeps out what would need an escape. */
function rendered(template: string, username: string): string {
  return template.replace(/\{\{\s*username\s*\}\}/g, () => username);
}

function valuesOf(entry: Entry, attribute: string): readonly string[] {
  const wanted = attribute.toLowerCase();
  const name = Object.keys(entry).find((one) => one.toLowerCase() === wanted);
  const value = name === undefined ? [] : entry[name];
  return [value].flat().filter((one): one is string => typeof one === 'string');
}

/** `ops` of `cn=ops,ou=groups,dc=example`. */
function firstValue(dn: string): string {
  return dn.split(',')[0]?.split('=').at(-1) ?? '';
}
