import type { MasterOptions } from '@brine/config';
import { optionsByName } from '@brine/config';
import { reach } from '@brine/master-host/request-port';
import { isMap, type SaltValue } from '@brine/wire';

/** A server that an option names. */
export interface Backend {
  readonly option: string;
  readonly host: string;
  readonly port: number;
}

/** A server, and the result of a TCP connection from this host. */
export interface BackendSeen extends Backend {
  /** Reason of a failed connection; undefined on success. */
  readonly why?: string;
}

/** Maximum of servers to try. */
const BACKENDS_MAX = 50;
/** Limits for searching a configuration: number of values, and depth. */
const VALUES_MAX = 20_000;
const DEPTH_MAX = 20;

/** Ports by the scheme of a URL. */
const PORTS: Readonly<Record<string, number>> = {
  http: 80,
  https: 443,
  ssh: 22,
  git: 9418,
  'git+ssh': 22,
  ldap: 389,
  ldaps: 636,
  nats: 4222,
  tls: 4222,
  postgres: 5432,
  postgresql: 5432,
  mysql: 3306,
  mongodb: 27017,
  redis: 6379,
  rediss: 6379,
  amqp: 5672,
  amqps: 5671,
};

/** `user@host:path`, as git and ssh take it; in options of git alone. */
const SCP = /^[A-Za-z0-9._-]+@([A-Za-z0-9.-]+):(?!\/\/)/;
const OF_GIT = /git/;
const URLS = /\b([a-z][a-z0-9+]*):\/\/([^\s'"<>]+)/g;

/**
 * The servers that options name by URL, for any purpose: files, pillars, log-ins, returners,
 * traces. Options with separate host and port are listed in `HOSTS`.
 */
export function backendsOf(options: MasterOptions): Backend[] {
  const found = new Map<string, Backend>();
  const add = (option: string, host: string, port: number): void => {
    const key = `${host}:${port}`;
    if (host === '' || !(port > 0 && port < 65_536) || found.size >= BACKENDS_MAX) return;
    if (!found.has(key)) found.set(key, { option, host, port });
  };
  // Ignore servers of defaults, which the operator did not choose.
  const isSet = (name: SaltValue): boolean =>
    name === 'brine' || (typeof name === 'string' && Object.hasOwn(options.written, name));
  const all = new Map([...optionsByName(options)].filter(([name]) => isSet(name)));
  let looked = 0;
  const walk = (name: string, value: SaltValue, depth: number): void => {
    looked += 1;
    if (looked > VALUES_MAX || depth > DEPTH_MAX) return;
    if (typeof value === 'string') return fromText(name, value, add);
    if (Array.isArray(value)) for (const item of value) walk(name, item, depth + 1);
    else if (isMap(value)) {
      for (const [key, item] of value) {
        // A git remote with options of its own is the key of a map.
        if (typeof key === 'string') fromText(name, key, add);
        walk(name, item, depth + 1);
      }
    }
  };
  for (const [name, value] of all) if (typeof name === 'string') walk(name, value, 0);
  for (const [name, port, preset] of HOSTS) {
    const host = all.get(name);
    const given = Number(all.get(port) ?? preset);
    for (const one of Array.isArray(host) ? host : [host]) {
      if (typeof one === 'string' && /^[A-Za-z0-9.-]+$/.test(one)) add(name, one, given);
    }
  }
  return [...found.values()];
}

/** Options that name a host, the option for its port, and the default port. */
const HOSTS = [
  ['auth.ldap.server', 'auth.ldap.port', 389],
  ['syndic_master', 'syndic_master_port', 4506],
] as const;

function fromText(
  option: string,
  text: string,
  add: (option: string, host: string, port: number) => void,
): void {
  for (const [, scheme = '', rest = ''] of text.matchAll(URLS)) {
    const preset = PORTS[scheme];
    if (preset === undefined) continue;
    const authority = rest.split(/[/?#]/, 1)[0] ?? '';
    // NATS and PostgreSQL take several servers with commas.
    for (const one of authority.slice(authority.lastIndexOf('@') + 1).split(',')) {
      const [, bracketed, plain, port] = /^(?:\[([^\]]+)\]|([^:]*))(?::(\d+))?$/.exec(one) ?? [];
      add(option, bracketed ?? plain ?? '', port === undefined ? preset : Number(port));
    }
  }
  const scp = OF_GIT.test(option) ? SCP.exec(text)?.[1] : undefined;
  if (scp !== undefined) add(option, scp, 22);
}

/** Connects to all of them in parallel. Sends nothing. */
export function reachAll(backends: readonly Backend[]): Promise<BackendSeen[]> {
  return Promise.all(
    backends.map(async (backend) => {
      const why = await reach(backend);
      return why === undefined ? backend : { ...backend, why };
    }),
  );
}
