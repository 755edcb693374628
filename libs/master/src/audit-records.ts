import { createHash } from 'node:crypto';
import type { AuditedAct, AuditOutcome } from '@brine/job';
import { isMap, listOf, mapIn, pack, type SaltMap, type SaltValue, textOf } from '@brine/wire';
import { MINION_PREFIX, type Proven } from './clear/caller.ts';
import type { AskedFunction } from './clear/function-call.ts';
import type { MasterPorts, Request } from './ports/ports.ts';

const KINDS = {
  publish: 'publish',
  runner: 'runner',
  wheel: 'wheel',
  mk_token: 'token',
  brine_batch: 'publish',
  brine_code: 'token',
} as const;

/** Brine's own queries that change something. */
const ACTING_QUERIES: Readonly<Record<string, AuditedAct['kind']>> = {
  del_token: 'token',
  import: 'runner',
  quarantine_retry: 'runner',
  quarantine_drop: 'runner',
};

/** Limit of recorded names of a list. */
const NAMES_MAX = 20;

/** Fields in the load of a wheel that are credentials, not arguments. */
const CREDENTIALS: ReadonlySet<SaltValue> = new Set([
  'cmd',
  'eauth',
  'key',
  'password',
  'token',
  'user',
  'username',
]);

/**
 * Records a clear command that acts, and its outcome. A command without a proven caller is subject
 * to the limit of refusals, whatever its answer.
 */
export function recordClear(
  ports: MasterPorts,
  request: Request,
  call: {
    readonly load: SaltMap;
    readonly answer: SaltValue;
    readonly proven: Proven | undefined;
  },
): void {
  const { load, answer, proven } = call;
  if (ports.audit === undefined) return;
  const kind = kindOf(load);
  if (kind === undefined) return;
  const outcome = outcomeOf(kind, answer);
  const kwargs = mapIn(load, 'kwargs') ?? new Map<SaltValue, SaltValue>();
  const isRefused = proven === undefined || /^(?:refused|[A-Za-z]*Auth\w+Error)/.test(outcome);
  ports.audit[isRefused ? 'recordRefusal' : 'record']({
    kind,
    outcome,
    ...whoOf(load, kwargs, proven),
    source: request.gatewayHost,
    ...given('peer', request.peer),
    argsHash: hashOf(argumentsOf(kind, load)),
    ...given('fun', shown(load.get('fun') ?? load.get('query') ?? load.get('read'))),
    ...given('target', shown(targetOf(kind, load))),
    ...(kind === 'read' ? given('path', shown(mapIn(load, 'args')?.get('path'))) : {}),
    ...published(answer),
  });
}

/** The target minions; for a wheel that writes, the file or the key; for a read its minion. */
function targetOf(kind: AuditedAct['kind'], load: SaltMap): SaltValue | undefined {
  if (kind === 'read') return mapIn(load, 'args')?.get('id');
  const tgt = load.get('tgt') ?? load.get('match');
  if (tgt !== undefined || kind !== 'wheel') return tgt;
  return load.get('path') ?? load.get('file_name') ?? load.get('id_');
}

/** The proven name, any other name that the load claims, and the method of proof. */
function whoOf(
  load: SaltMap,
  kwargs: SaltMap,
  proven: Proven | undefined,
): Pick<AuditedAct, 'principal' | 'claimed' | 'method' | 'via'> {
  // The user in a load of the master's own is not a caller's claim.
  if (proven?.via !== undefined) return provenAs(proven);
  const name = textOf(kwargs, 'username') ?? textOf(load, 'username') ?? textOf(load, 'user');
  const claimed = name === undefined || name === proven?.principal ? {} : { claimed: name };
  if (proven === undefined) return { ...claimed, method: triedMethod(load, kwargs) };
  return { ...provenAs(proven), ...claimed };
}

/** The proven name and its proof; a minion has only its id. */
function provenAs({
  kind,
  principal,
  via,
}: Proven): Pick<AuditedAct, 'principal' | 'method' | 'via'> {
  if (kind === 'minion') {
    return { principal: principal.slice(MINION_PREFIX.length), method: kind, ...given('via', via) };
  }
  return { principal, method: kind === 'user' ? 'key' : kind, ...given('via', via) };
}

/** Records a runner or wheel that another call, an event or a due time began. */
export function recordInner(
  ports: MasterPorts,
  { kind, fun, args, kwargs, jid }: AskedFunction & { readonly jid: string },
  proven: Proven,
  outcome: 'done' | 'refused',
): void {
  const target = kind === 'wheel' ? (targetOf(kind, kwargs) ?? args.at(0)) : undefined;
  ports.audit?.[outcome === 'refused' ? 'recordRefusal' : 'record']({
    kind,
    outcome,
    fun,
    jid,
    ...provenAs(proven),
    argsHash: hashOf([[...args], kwargs]),
    ...given('target', shown(target)),
  });
}

/** Records what a minion made other minions or the master do (`peer`, `peer_run`). */
export function recordPeer(
  ports: MasterPorts,
  request: Request,
  act: {
    readonly kind: 'publish' | 'runner';
    readonly outcome: AuditOutcome;
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
 * Records the log-in of a minion. Many know its id and public key and a log-in proves nothing, so
 * all log-ins are subject to the limit of refusals.
 * @param login `outcome` is `accept` for a known key, `first accept` for a new key, and the reason
 * of the refusal for all others
 */
export function recordLogin(
  ports: MasterPorts,
  request: Request,
  login: { readonly id: string; readonly outcome: AuditOutcome; readonly version: number },
): void {
  const { id: claimed, outcome, version } = login;
  const source = request.gatewayHost;
  const proof = 'unproven';
  ports.audit?.recordRefusal({
    kind: 'login',
    outcome,
    claimed,
    proof,
    method: 'key',
    source,
    ...given('peer', request.peer),
    version,
  });
}

/** Records that the minion of a log-in has proved that it has the private key. */
export function recordProof(
  ports: MasterPorts,
  request: Request,
  { id: principal, version }: { readonly id: string; readonly version: number },
): void {
  ports.audit?.record({
    kind: 'login',
    outcome: 'accept',
    principal,
    proof: 'sealed request',
    method: 'key',
    source: request.gatewayHost,
    version,
  });
}

function kindOf(load: SaltMap): AuditedAct['kind'] | undefined {
  const cmd = load.get('cmd');
  if (typeof cmd !== 'string') return undefined;
  // Following a batch changes nothing.
  if (cmd === 'brine_batch' && load.has('follow')) return undefined;
  if (Object.hasOwn(KINDS, cmd)) return KINDS[cmd as keyof typeof KINDS];
  if (cmd === 'brine_read') return isReveal(load) ? 'read' : undefined;
  const query = cmd === 'brine_query' ? load.get('query') : undefined;
  if (typeof query !== 'string' || !Object.hasOwn(ACTING_QUERIES, query)) return undefined;
  return ACTING_QUERIES[query];
}

/** True for a read that shows what is masked otherwise. */
function isReveal(load: SaltMap): boolean {
  return mapIn(load, 'args')?.get('reveal') === true;
}

function argumentsOf(kind: AuditedAct['kind'], load: SaltMap): SaltValue {
  if (kind === 'wheel') return new Map([...load].filter(([name]) => !CREDENTIALS.has(name)));
  // Brine's own queries have their arguments in a map. Other commands ignore that map, so it could
  // hide nothing.
  if (kind === 'read' || load.get('cmd') === 'brine_query') return load.get('args') ?? null;
  return [load.get('arg') ?? null, load.get('kwarg') ?? null];
}

function hashOf(value: SaltValue): string {
  return createHash('sha256').update(pack(value)).digest('hex');
}

/** The method by which a refused caller tried to prove its name. */
function triedMethod(load: SaltMap, kwargs: SaltMap): string {
  if (load.has('code')) return 'code';
  if (load.has('token') || kwargs.has('token')) return 'token';
  return load.has('eauth') || kwargs.has('eauth') ? 'eauth' : 'key';
}

/** `done`, or the name of the answered error. */
function outcomeOf(kind: AuditedAct['kind'], answer: SaltValue): AuditOutcome {
  if (answer === '' || answer === null) return 'refused';
  if (!isMap(answer)) return 'done';
  // What is not there, and what the caller may not see, look the same.
  if (kind === 'read' && answer.get('value') === null) return 'refused';
  const error = answer.get('error');
  if (error === undefined) return 'done';
  const name = isMap(error) ? textOf(error, 'name') : undefined;
  return name !== undefined && isErrorName(name) ? name : 'error';
}

function isErrorName(name: string): name is `${string}Error` {
  return name.endsWith('Error');
}

/** The job of a publish, a runner or a wheel. */
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
  return text === undefined ? {} : { [name]: text };
}
