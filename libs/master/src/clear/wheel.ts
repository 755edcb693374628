import { fingerprint } from '@brine/crypt';
import { mapOf, type SaltMap, type SaltValue } from '@brine/wire';
import { pyRepr } from '@brine/wire/text';
import type { FunctionCall, FunctionOutcome, MasterPorts } from '../ports/ports.ts';
import { changeKeys, type KeyAct, listKeys, matchKeys, textsOfKeys } from './key-acts.ts';

interface WheelFunction {
  /** Without a preset they must be given. */
  readonly parameters: readonly (readonly [name: string, preset?: SaltValue])[];
  run(
    ports: MasterPorts,
    given: ReadonlyMap<string, SaltValue>,
    call: FunctionCall,
  ): Promise<SaltValue> | SaltValue;
}

const MATCH = [['match']] as const;
const HASHED = [['match'], ['hash_type', null]] as const;

/** `accept`, `reject`, `delete` by a glob, and their forms that take ids by section. */
function acting(act: KeyAct, also: readonly string[]): readonly [string, WheelFunction][] {
  const options = also.map((name) => [name, false] as const);
  const parameters = [['match'] as const, ...options];
  const run: WheelFunction['run'] = (ports, given, { user, principal }) => {
    const included = also.filter((name) => given.get(name) === true);
    return changeKeys(ports, { act, user, principal }, given.get('match') ?? '', included);
  };
  const name = `key.${act}`;
  return [
    [name, { parameters, run }],
    [`${name}_dict`, { parameters, run }],
  ];
}

/**
 * The wheel functions (salt/wheel/key.py): a closed table. `key` is the whole of it: reading and
 * writing the master's files and configuration is no business of a request port.
 */
const FUNCTIONS: ReadonlyMap<string, WheelFunction> = new Map<string, WheelFunction>([
  [
    'key.list_all',
    { parameters: [], run: (ports) => listKeys(ports).set('local', ['master.pem', 'master.pub']) },
  ],
  [
    'key.list',
    {
      parameters: MATCH,
      run: (ports, given) => {
        const section = SECTION_BY_WORD.find(([word]) => textIn(given, 'match').startsWith(word));
        if (section === undefined) return mapOf({});
        return mapOf({ [section[1]]: listKeys(ports).get(section[1]) });
      },
    },
  ],
  ...(['key.glob_match', 'key.name_match'] as const).map((name): [string, WheelFunction] => [
    name,
    { parameters: MATCH, run: (ports, given) => matchKeys(ports, given.get('match') ?? '') },
  ]),
  ...acting('accept', ['include_rejected', 'include_denied']),
  ...acting('reject', ['include_accepted', 'include_denied']),
  ...acting('delete', []),
  [
    'key.key_str',
    {
      parameters: MATCH,
      run: (ports, given) => textsOfKeys(ports, given.get('match') ?? '', (pem) => pem),
    },
  ],
  [
    'key.finger',
    {
      parameters: HASHED,
      run: (ports, given) => {
        const hash = textIn(given, 'hash_type') || undefined;
        return textsOfKeys(ports, given.get('match') ?? '', (pem) =>
          fingerprint(pem, '3008', hash),
        );
      },
    },
  ],
  [
    'key.finger_master',
    {
      parameters: [['hash_type', null]],
      run: ({ masterKey }, given) => {
        const hash = textIn(given, 'hash_type') || undefined;
        return local(fingerprint(masterKey.publicPem, '3008', hash));
      },
    },
  ],
  ['key.master_key_str', { parameters: [], run: ({ masterKey }) => local(masterKey.publicPem) }],
]);

const SECTION_BY_WORD = [
  ['acc', 'minions'],
  ['pre', 'minions_pre'],
  ['un', 'minions_pre'],
  ['rej', 'minions_rejected'],
  ['den', 'minions_denied'],
] as const;

/** Calls a wheel function. Never rejects: a failure is an outcome, in Salt's words. */
export async function callWheel(ports: MasterPorts, call: FunctionCall): Promise<FunctionOutcome> {
  const fun = FUNCTIONS.get(call.fun);
  if (fun === undefined) return failure(call, `'${call.fun}' is not available.`);
  const given = bind(fun, call);
  if (typeof given === 'string') {
    return { value: `\nPassed invalid arguments: ${given}\n`, success: false };
  }
  try {
    return { value: await fun.run(ports, given, call), success: true };
  } catch (cause) {
    ports.count('wheel_failed');
    return failure(call, cause instanceof Error ? cause.message : String(cause));
  }
}

/** Arguments by name; what Python says where one is missing, or given twice. */
function bind({ parameters }: WheelFunction, call: FunctionCall): Map<string, SaltValue> | string {
  const short = call.fun.split('.').at(-1) ?? '';
  if (call.args.length > parameters.length) {
    return `${short}() takes ${parameters.length} arguments but ${call.args.length} were given`;
  }
  const given = new Map<string, SaltValue>();
  for (const [at, [name, preset]] of parameters.entries()) {
    const positional = call.args[at];
    const keyword = call.kwargs.get(name);
    if (positional !== undefined && keyword !== undefined) {
      return `${short}() got multiple values for argument '${name}'`;
    }
    const value = positional ?? keyword ?? preset;
    if (value === undefined) return `${short}() missing 1 required positional argument: '${name}'`;
    given.set(name, value);
  }
  return given;
}

function failure({ fun }: FunctionCall, text: string): FunctionOutcome {
  return { value: `Exception occurred in wheel ${fun}: ${text}`, success: false };
}

function textIn(given: ReadonlyMap<string, SaltValue>, name: string): string {
  const value = given.get(name) ?? '';
  if (value === null) return '';
  return typeof value === 'string' ? value : pyRepr(value);
}

function local(text: string): SaltMap {
  return mapOf({ local: mapOf({ 'master.pub': text }) });
}
