import { readAcl } from '@brine/acl';
import { type Command, JobRecords, type JobReturn } from '@brine/client';
import { PrivateKey } from '@brine/crypt';
import type { AccessRules, FunctionOutcome, MasterRules, MinionBanks } from '@brine/master';
import { keptCaller } from '@brine/master/functions';
import { type MemoryMaster, memoryMaster, vectorFile } from '@brine/testing';
import { isMap, mapOf, type SaltMap, type SaltValue, textOf } from '@brine/wire';
import { pyStr } from '@brine/wire/text';
import { callFunction } from '../src/call.ts';
import type { RunnerMaster } from '../src/function.ts';

const { master_key: key } = vectorFile<{ readonly master_key: { readonly pem: string } }>(
  'auth.json',
);
const masterKey = PrivateKey.parse(key.pem);

/** The public key of minions here. */
export const MINION_PEM = masterKey.publicKey.pem;

export const JID = '20261126030000000000';

/** Options of a test. */
export interface SceneOptions {
  /** Answers to a command; undefined: no minion matched. */
  readonly minions?: (command: Command) => readonly JobReturn[] | undefined;
  /** Answers of the job cache. */
  readonly jobCache?: (query: string, args: SaltMap) => SaltValue;
  /** Options of the configuration. */
  readonly configured?: Readonly<Record<string, SaltValue>>;
  readonly rules?: Partial<MasterRules>;
  /** The caller has these rights of `publisher_acl`, and is not root. */
  readonly rights?: readonly SaltValue[];
  /** Further access of a function. */
  readonly more?: Partial<RunnerMaster>;
}

type Called<T> = (fun: string, args?: readonly SaltValue[], kwargs?: SaltMap) => Promise<T>;

/** A master in memory, with everything that a function of the table did there. */
export interface Scene {
  readonly memory: MemoryMaster;
  readonly master: RunnerMaster;
  /** Pillars by id, or by `id/env`. */
  readonly pillars: Map<string, SaltMap>;
  readonly commands: Command[];
  /** How long each command was waited for. */
  readonly waits: object[];
  readonly printed: string[];
  readonly fired: (readonly [tag: string, data: SaltMap])[];
  readonly run: Called<FunctionOutcome>;
  readonly wheel: Called<FunctionOutcome>;
  /** The value of a run that succeeded. */
  readonly value: Called<SaltValue>;
}

/** Builds such a master with accepted minions. */
export function sceneOf(accepted: readonly string[], options: SceneOptions = {}): Scene {
  const { configured = {}, jobCache, rights } = options;
  const limited = rights && limitedUser(rights);
  const memory = memoryMaster({
    masterKey,
    rules: { ...options.rules, ...(limited && { access: limited.access }) },
    ...(jobCache === undefined ? {} : { answerQuery: jobCache }),
  });
  for (const id of accepted) {
    memory.setKey(id, { state: 'accepted', pub: MINION_PEM, denied: [] });
  }
  const pillars = new Map<string, SaltMap>();
  const commands: Command[] = [];
  const waits: object[] = [];
  const printed: string[] = [];
  const fired: (readonly [string, SaltMap])[] = [];
  const master = {
    ...memory.ports,
    local: memory.local,
    call: {
      kind: 'runner',
      fun: 'test.arg',
      jid: JID,
      user: 'root',
      principal: 'root',
      ...limited?.call,
    },
    depthMax: 12,
    option: (name: string) => configured[name],
    shownOptions: mapOf(configured),
    banks: memoryBanks(memory, pillars),
    fire: async (tag: string, data: SaltMap) => void fired.push([tag, data]),
    ...options.more,
  } as unknown as RunnerMaster;
  const client = clientOf(options, { commands, waits });
  const context = {
    client,
    master,
    jobs: new JobRecords(client),
    out: (text: string) => void printed.push(text),
    auditSeal: () => Promise.reject(new Error('no seal here')),
  };
  const call =
    (kind: 'runner' | 'wheel'): Called<FunctionOutcome> =>
    (fun, args = [], kwargs = mapOf({})) =>
      callFunction({ kind, fun, args, kwargs }, context);
  const run = call('runner');
  return {
    memory,
    master,
    pillars,
    commands,
    waits,
    printed,
    fired,
    run,
    wheel: call('wheel'),
    value: async (fun, args, kwargs) => {
      const outcome = await run(fun, args, kwargs);
      if (!outcome.success) throw new Error(`${fun} failed: ${pyStr(outcome.value)}`);
      return outcome.value;
    },
  };
}

/** A client whose answers the test chose. */
function clientOf(
  { minions, jobCache }: SceneOptions,
  { commands, waits }: Pick<Scene, 'commands' | 'waits'>,
): never {
  return {
    publish: async (command: Command) => {
      commands.push(command);
      const returns = minions?.(command) ?? undefined;
      return returns && { jid: JID, minions: returns.map(({ id }) => id), returns };
    },
    async *returns(job: { readonly returns: readonly JobReturn[] }, wait: object) {
      waits.push(wait);
      yield* job.returns;
    },
    command: async (load: SaltMap) => {
      const args = load.get('args');
      const value = jobCache?.(textOf(load, 'query') ?? '', isMap(args) ? args : mapOf({}));
      return mapOf({ value: value ?? null });
    },
  } as never;
}

/** No rights by any login. */
const NO_ACCESS: AccessRules = {
  externalAuth: {},
  publisherAcl: {},
  sudoAcl: false,
  permissiveAcl: false,
  keepAclInToken: false,
  tokenExpire: 0,
  tokenExpireUserOverride: false,
  hashType: 'sha256',
};

/** The user whose rights a test gives. */
const LIMITED = 'bob';

/** A user with these rights of `publisher_acl`, as a call names it, and the rules with them. */
export function limitedUser(rights: readonly SaltValue[]) {
  const who = { user: LIMITED, principal: LIMITED };
  return {
    call: { ...who, caller: keptCaller({ kind: 'user', ...who, acl: readAcl(rights) }) },
    access: { ...NO_ACCESS, publisherAcl: { [LIMITED]: rights } },
  };
}

function memoryBanks({ ports, grains, minionKeys }: MemoryMaster, pillars: Map<string, SaltMap>) {
  const place = (id: string, env?: string): string => (env === undefined ? id : `${id}/${env}`);
  const fetch: MinionBanks['fetch'] = async (bank, id, env) => {
    if (bank === 'grains') return grains.get(id);
    return bank === 'pillar' ? pillars.get(place(id, env)) : ports.mines.fetch(id);
  };
  const banks: MinionBanks = {
    fetch,
    ids: async (bank) => {
      if (bank === 'grains') return [...grains.keys()].sort();
      if (bank === 'pillar') return [...pillars.keys()].filter((id) => !id.includes('/')).sort();
      const found: string[] = [];
      for (const id of minionKeys.keys()) if (await ports.mines.fetch(id)) found.push(id);
      return found.sort();
    },
    store: async (bank, id, data) => {
      if (bank === 'grains') grains.set(id, data);
      else if (bank === 'pillar') pillars.set(id, data);
      else await ports.mines.change(id, () => data);
    },
    drop: async (bank, ids, env) => {
      const had: string[] = [];
      for (const id of ids) {
        if ((await fetch(bank, id, env)) === undefined) continue;
        had.push(id);
        if (bank === 'grains') grains.delete(id);
        else if (bank === 'pillar') pillars.delete(place(id, env));
        else await ports.mines.change(id, () => undefined);
      }
      return had;
    },
  };
  return banks;
}

/** A return of a minion. */
export function back(id: string, ret: SaltValue, retcode = 0): JobReturn {
  return { kind: 'return', id, ret, retcode };
}

/** A minion that stays silent. */
export function silent(id: string): JobReturn {
  return { kind: 'missing', id };
}
