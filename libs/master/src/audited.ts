import { createHash } from 'node:crypto';
import { isMap, listOf, mapIn, pack, textOf, type SaltMap, type SaltValue } from '@brine/wire';
import type { AuditedAct } from './audit-port.ts';
import type { MasterPorts, Request } from './ports.ts';

const KINDS = {
  publish: 'publish',
  runner: 'runner',
  wheel: 'wheel',
  mk_token: 'token',
} as const;

/** Those of Brine's own queries that change something. */
const ACTING_QUERIES: Readonly<Record<string, AuditedAct['kind']>> = {
  del_token: 'token',
  import: 'runner',
};

/** Texts of the record are cut here: they come from strangers. */
const TEXT_MAX = 200;
/** Names of a list that are told. */
const NAMES_MAX = 20;

/** What in the load of a wheel is credentials, and no argument. */
const CREDENTIALS: ReadonlySet<SaltValue> = new Set([
  'cmd',
  'eauth',
  'key',
  'password',
  'token',
  'user',
  'username',
]);

/** Puts a clear command and what came of it on record, where it is one that acts. */
export function recordClear(
  ports: MasterPorts,
  request: Request,
  { load, answer }: { readonly load: SaltMap; readonly answer: SaltValue },
): void {
  if (ports.audit === undefined) return;
  const kind = kindOf(load);
  if (kind === undefined) return;
  const outcome = outcomeOf(answer);
  const kwargs = mapIn(load, 'kwargs') ?? new Map<SaltValue, SaltValue>();
  const principal = textOf(kwargs, 'username') ?? textOf(load, 'username') ?? textOf(load, 'user');
  const isRefused = /^(?:refused|[A-Za-z]*Auth\w+Error)/.test(outcome);
  ports.audit[isRefused ? 'recordRefusal' : 'record']({
    kind,
    outcome: cut(outcome),
    method: methodOf(load, kwargs),
    source: request.gatewayHost,
    argsHash: hashOf(argumentsOf(kind, load)),
    ...given('principal', principal),
    ...given('fun', shown(load.get('fun') ?? load.get('query'))),
    ...given('target', shown(load.get('tgt') ?? load.get('match'))),
    ...published(answer),
  });
}

/** Puts what a minion made others do on record (`peer`, `peer_run`). */
export function recordPeer(
  ports: MasterPorts,
  request: Request,
  act: {
    readonly kind: 'publish' | 'runner';
    readonly outcome: string;
    readonly minion: string;
    readonly load: SaltMap;
    readonly published?: { readonly jid: string; readonly minions: readonly string[] } | undefined;
  },
): void {
  const { kind, outcome, minion, load, published: job } = act;
  ports.audit?.[outcome === 'refused' ? 'recordRefusal' : 'record']({
    kind,
    outcome,
    principal: minion,
    method: 'minion',
    source: request.gatewayHost,
    argsHash: hashOf(load.get('arg') ?? null),
    ...given('fun', shown(load.get('fun'))),
    ...given('target', shown(load.get('tgt'))),
    ...(job === undefined ? {} : { jid: job.jid, minions: job.minions.length }),
  });
}

/**
 * Puts the log-in of a minion on record.
 * @param login `outcome` is `accept` for one that was let in with a key that was known,
 *   `first accept` for a new key, and why not for all others
 */
export function recordLogin(
  ports: MasterPorts,
  request: Request,
  login: { readonly id: string; readonly outcome: string; readonly version: number },
): void {
  const { id, outcome, version } = login;
  ports.audit?.[outcome.endsWith('accept') ? 'record' : 'recordRefusal']({
    kind: 'login',
    outcome,
    principal: cut(id),
    method: 'key',
    source: request.gatewayHost,
    version,
  });
}

function kindOf(load: SaltMap): AuditedAct['kind'] | undefined {
  const cmd = load.get('cmd');
  if (typeof cmd !== 'string') return undefined;
  if (Object.hasOwn(KINDS, cmd)) return KINDS[cmd as keyof typeof KINDS];
  const query = cmd === 'brine_query' ? load.get('query') : undefined;
  if (typeof query !== 'string' || !Object.hasOwn(ACTING_QUERIES, query)) return undefined;
  return ACTING_QUERIES[query];
}

function argumentsOf(kind: AuditedAct['kind'], load: SaltMap): SaltValue {
  if (kind === 'wheel') return new Map([...load].filter(([name]) => !CREDENTIALS.has(name)));
  return [load.get('arg') ?? null, load.get('kwarg') ?? null];
}

function hashOf(value: SaltValue): string {
  return createHash('sha256').update(pack(value)).digest('hex');
}

function methodOf(load: SaltMap, kwargs: SaltMap): string {
  if (load.has('token') || kwargs.has('token')) return 'token';
  return load.has('eauth') || kwargs.has('eauth') ? 'eauth' : 'key';
}

/** `done`, or the name of the error that was answered. */
function outcomeOf(answer: SaltValue): string {
  if (answer === '' || answer === null) return 'refused';
  if (!isMap(answer)) return 'done';
  const error = answer.get('error');
  if (error === undefined) return 'done';
  if (isMap(error)) return textOf(error, 'name') ?? 'error';
  return 'error';
}

/** The job that came of a publish, a runner or a wheel. */
function published(answer: SaltValue): Pick<AuditedAct, 'jid' | 'minions'> {
  if (!isMap(answer)) return {};
  const load = mapIn(answer, 'load');
  const called = mapIn(answer, 'data') ?? answer;
  const jid = textOf(load ?? called, 'jid');
  if (jid === undefined) return {};
  return load === undefined ? { jid } : { jid, minions: listOf(load, 'minions')?.length ?? 0 };
}

function shown(value: SaltValue | undefined): string | undefined {
  if (typeof value === 'string') return value;
  if (!Array.isArray(value)) return undefined;
  return value
    .filter((one) => typeof one === 'string')
    .slice(0, NAMES_MAX)
    .join(',');
}

function given(name: string, text: string | undefined): Record<string, string> {
  return text === undefined ? {} : { [name]: cut(text) };
}

function cut(text: string): string {
  return text.length > TEXT_MAX ? `${text.slice(0, TEXT_MAX)}…` : text;
}
