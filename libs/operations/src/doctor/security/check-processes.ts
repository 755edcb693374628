import { SERVICE_NAMES } from '@brine/bus';
import type { MasterOptions } from '@brine/config';
import { type Finding, some } from '../../findings/finding.ts';
import { type Secret, SecretScanner } from '../../secrets/secret-scanner.ts';
import type { MasterOwner } from './check-modes.ts';
import type { ListenAddress, ProcessSeen } from './processes.ts';

const LOOPBACK = /^(?:127\.|::1$)/;
/** The only service with credentials of PostgreSQL. */
const STORE = 'job-cache-returner';
const SUPERVISOR = 'supervisor';
/** Variable with values of sdb, which the master resolves once for all services. */
const SDB = 'BRINE_SDB';
/** Processes of the servers that a master starts itself. */
const SERVERS = /^(?:nats-server|postgres(?:ql)?:?)$/;

/** Checks which secrets processes expose, and where they listen. */
export function checkProcesses(
  processes: readonly ProcessSeen[],
  options: MasterOptions,
  secrets: readonly Secret[],
  owner: MasterOwner | undefined,
): Finding[] {
  return [
    ...userFindings(processes, options, owner),
    ...environmentFindings(processes, secrets),
    ...commandLineFindings(processes, secrets),
    ...listenFindings(processes, options),
  ];
}

/** `worker-pool` of `worker-pool-2`. */
function kindOf(service: string): string {
  return service.replace(/-\d+$/, '');
}

/** Services must run as the master's user; PostgreSQL may have its own account. */
function userFindings(
  processes: readonly ProcessSeen[],
  { user }: MasterOptions,
  owner: MasterOwner | undefined,
): Finding[] {
  if (owner === undefined) return [];
  const others = processes.filter(({ service, uid }) => service !== undefined && uid !== owner.uid);
  if (others.length > 0) {
    const named = others.map(({ name, uid }) => `${name} (uid ${uid})`);
    const text = `not run by ${user}, the user of the options: ${some(named)}; restart the master`;
    return [{ level: 'bad', check: 'process-users', text }];
  }
  const text = `all services are run by ${user}, who can read their environments, as root can`;
  return [{ level: 'ok', check: 'process-users', text }];
}

/** Each process may have only its own NATS user; only the store has credentials of PostgreSQL. */
function environmentFindings(
  processes: readonly ProcessSeen[],
  secrets: readonly Secret[],
): Finding[] {
  const readable = processes.filter(({ environment }) => environment !== undefined);
  const known = new KnownSecrets(secrets);
  const wrong = readable.flatMap((one) => wrongVariables(one, known));
  const findings: Finding[] = [];
  if (wrong.length > 0) {
    const text = `processes have credentials of others: ${some(wrong)}`;
    const how = 'an attacker in one gets them; restart the master, and report it if they stay';
    findings.push({ level: 'bad', check: 'environments', text: `${text}: ${how}` });
  }
  const hidden = processes.length - readable.length;
  if (hidden > 0) {
    const text = `the environments of ${hidden} processes can not be read: run this as root`;
    findings.push({ level: 'warn', check: 'environments', text });
  }
  if (findings.length > 0) return findings;
  const text = `${readable.length} processes have only their own credentials`;
  return [{ level: 'ok', check: 'environments', text }];
}

/** Finds only known secrets of this host: other texts that look secret may be the operator's. */
class KnownSecrets {
  readonly #scanner: SecretScanner;
  readonly #names: ReadonlySet<string>;

  constructor(secrets: readonly Secret[]) {
    this.#scanner = new SecretScanner(secrets);
    this.#names = new Set(secrets.map(({ from }) => from));
  }

  /** Origin of the secret in a text. */
  in(text: string): string | undefined {
    return this.#scanner.find(text).find(({ from }) => this.#names.has(from))?.from;
  }
}

function wrongVariables(
  { name, service, environment }: ProcessSeen,
  known: KnownSecrets,
): string[] {
  const wrong: string[] = [];
  for (const [variable, value] of environment ?? []) {
    if (mayHave(service, variable, value)) continue;
    const from = known.in(value);
    if (from !== undefined) wrong.push(`${name}: ${variable} (${from})`);
  }
  return wrong;
}

function mayHave(service: string | undefined, variable: string, value: string): boolean {
  if (service === undefined) return false;
  // Values that the operator gave to all of the master.
  if (service === SUPERVISOR || variable === SDB) return true;
  if (variable === 'DATABASE_URL') return service === STORE;
  if (variable !== 'NATS_URL') return false;
  const user = userOf(value);
  // Other users belong to the operator's own NATS.
  const isOfServices = (SERVICE_NAMES as readonly string[]).includes(user);
  return !isOfServices || user === kindOf(service);
}

function userOf(url: string): string {
  return URL.canParse(url) ? decodeURIComponent(new URL(url).username) : '';
}

/** Any user of the host can read the command lines of all processes. */
function commandLineFindings(
  processes: readonly ProcessSeen[],
  secrets: readonly Secret[],
): Finding[] {
  const known = new KnownSecrets(secrets);
  const shown = processes.flatMap(({ name, commandLine }) => {
    const from = known.in(commandLine);
    return from === undefined ? [] : [`${name} (${from})`];
  });
  if (shown.length === 0) {
    const text = 'no command line shows a secret';
    return [{ level: 'ok', check: 'command-lines', text }];
  }
  const text = `every user of this host can read a secret in the command line of ${some(shown)}`;
  return [{ level: 'bad', check: 'command-lines', text: `${text}: replace it` }];
}

/** Ports that the options open beyond loopback, whatever the address. */
function openPorts({ brine, publishPort, retPort, restCherrypy }: MasterOptions): Set<number> {
  const ports = [publishPort, retPort, ...brine.furtherPublishPorts.map(Number)];
  if (!LOOPBACK.test(brine.http.host)) ports.push(brine.http.port);
  const { port } = restCherrypy;
  if (typeof port === 'number') ports.push(port);
  return new Set(ports);
}

/** Beyond loopback only the ports for minions, and those that options open, are expected. */
function listenFindings(processes: readonly ProcessSeen[], options: MasterOptions): Finding[] {
  const { brine } = options;
  const asked = openPorts(options);
  const hosts = new Set([brine.healthHost, brine.metrics.host]);
  const isAsked = ({ host, port }: ListenAddress): boolean => {
    const isHealth = hosts.has(host) || (isAny(host) && [...hosts].some(isAny));
    return LOOPBACK.test(host) || asked.has(port) || isHealth;
  };
  const findings: Finding[] = [];
  const open = (level: Finding['level'], among: readonly ProcessSeen[], end: string): void => {
    const named = among.flatMap(({ name, listens = [] }) =>
      listens.filter((one) => !isAsked(one)).map(({ host, port }) => `${name} at ${host}:${port}`),
    );
    if (named.length === 0) return;
    const text = `others on the network reach ${some([...new Set(named)])}: ${end}`;
    findings.push({ level, check: 'listens', text });
  };
  const isOwn = ({ service, name }: ProcessSeen): boolean =>
    service !== undefined || SERVERS.test(name);
  open('bad', processes.filter(isOwn), 'no option asks for that; report it');
  // Engines belong to the operator.
  open(
    'warn',
    processes.filter((one) => !isOwn(one)),
    'an engine of yours; bind it to loopback',
  );
  const hidden = processes.filter(({ listens }) => listens === undefined).length;
  if (hidden > 0) {
    const text = `the sockets of ${hidden} processes can not be seen: run this as root`;
    findings.push({ level: 'warn', check: 'listens', text });
  }
  if (findings.length > 0) return findings;
  const ports = [...asked].filter((port) => port > 0).join(', ');
  const text = `beyond loopback the master listens on ${ports} alone`;
  return [{ level: 'ok', check: 'listens', text }];
}

function isAny(host: string): boolean {
  return host === '0.0.0.0' || host === '::';
}
