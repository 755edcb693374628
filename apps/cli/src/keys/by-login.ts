import type { LocalClient } from '@brine/client';
import { isMap, mapOf, type SaltMap, type SaltValue } from '@brine/wire';
import { pyStr } from '@brine/wire/text';
import { codeFor, EXIT, Exit } from '../exit-codes.ts';
import type { MasterPlace } from '../master-place.ts';
import { isOn } from '../options/command-form.ts';
import { credentialsFor } from '../salt/credentials.ts';
import { asSaltError } from '../salt/salt-errors.ts';
import { askFirst, type KeyAction, type KeyQuestion, printDone } from './act.ts';
import { type KeyChoice, type KeySection, SECTIONS } from './key-ring.ts';

/** Inputs of `salt-key --auth`. */
export interface KeyLogin extends Pick<KeyQuestion, 'options' | 'printer' | 'terminal'> {
  readonly place: MasterPlace;
}

/**
 * `salt-key --auth`: the same actions through the master, with the rights of a login (Salt:
 * salt/key.py KeyCLI). Returns the exit code.
 * @throws Exit 64 for making keys, which needs no login.
 */
export async function keysByLogin(login: KeyLogin, verb: string, match: string): Promise<number> {
  const { place, terminal, printer, options } = login;
  const { config } = place;
  if (verb === 'gen_keys' || verb === 'gen_signature') {
    const text = 'keys are made by the user who runs this, without --auth or --api';
    throw new Exit(EXIT.usage, `salt-key: error: ${text}\n`);
  }
  const master = place.open();
  try {
    const { client } = master;
    const credentials =
      place.api === undefined
        ? await credentialsFor({ options, config, terminal, client })
        : mapOf({});
    const wheels = new KeyWheels(client, credentials);
    await runVerb(wheels, login, verb, match);
    return EXIT.ok;
  } catch (error) {
    const known = asSaltError(error);
    if (known === undefined) throw error;
    // Salt shows it as a result, and exits with 0.
    if (!isOn(options, 'quiet')) printer.show(known.message, 'nested');
    return codeFor(config, { strict: EXIT.noReturn, stock: EXIT.ok });
  } finally {
    await master.close();
  }
}

async function runVerb(
  wheels: KeyWheels,
  login: KeyLogin,
  verb: string,
  match: string,
): Promise<void> {
  const { printer } = login;
  const name = verb.replace('_all', '');
  switch (name) {
    case 'list': {
      const found = await wheels.call('list', { match: verb === 'list_all' ? 'all' : match });
      printer.show(withoutLocal(found), 'key');
      return;
    }
    case 'print':
      printer.show(withoutLocal(await wheels.call('print', { match })), 'key');
      return;
    case 'finger':
      printer.show(await wheels.call('finger', { match }), 'key');
      return;
    default:
      await act(wheels, login, name as KeyAction, match);
  }
}

async function act(
  wheels: KeyWheels,
  { options, printer, terminal }: KeyLogin,
  action: KeyAction,
  match: string,
): Promise<void> {
  const ring = { match: (pattern: string) => wheels.match(pattern) };
  const chosen = await askFirst({ ring, action, match, options, printer, terminal });
  if (chosen === undefined) return;
  await wheels.call(`${action}_dict`, {
    match: new Map<SaltValue, SaltValue>([...chosen].map(([name, ids]) => [name, [...ids]])),
    ...included(action, chosen),
  });
  printDone(terminal, action, [...chosen.values()].flat());
}

/** The options have already limited the choice: the wheel may take all states. */
function included(action: KeyAction, chosen: KeyChoice): Record<string, SaltValue> {
  if (action === 'delete') return {};
  const other = action === 'accept' ? 'include_rejected' : 'include_accepted';
  const section: KeySection = action === 'accept' ? 'minions_rejected' : 'minions';
  return { [other]: chosen.has(section), include_denied: chosen.has('minions_denied') };
}

/** The wheel functions `key.*`, called with the credentials of a login. */
class KeyWheels {
  readonly #client: LocalClient;
  readonly #credentials: SaltMap;

  constructor(client: LocalClient, credentials: SaltMap) {
    this.#client = client;
    this.#credentials = credentials;
  }

  /** @throws RefusedError without the right, and the other errors of a command. */
  async call(name: string, given: Readonly<Record<string, SaltValue>>): Promise<SaltValue> {
    const load = mapOf({ cmd: 'wheel', fun: `key.${name}`, arg: [], kwarg: mapOf(given) });
    const reply = await this.#client.command(new Map([...load, ...this.#credentials]));
    const data = reply.get('data');
    if (!isMap(data)) throw new Error(`the master did not say what key.${name} gave`);
    const value = data.get('return') ?? null;
    // The value is the text of the error.
    if (data.get('success') === false) throw new Exit(EXIT.generic, `${pyStr(value)}\n`);
    return value;
  }

  async match(pattern: string): Promise<Map<KeySection, string[]>> {
    const found = await this.call('name_match', { match: pattern });
    const chosen = new Map<KeySection, string[]>();
    for (const section of SECTIONS) {
      const ids = isMap(found) ? found.get(section) : undefined;
      const names = Array.isArray(ids) ? ids.filter((id) => typeof id === 'string') : [];
      if (names.length > 0) chosen.set(section, names);
    }
    return chosen;
  }
}

/** The master's own keys are shown by `-F` only. */
function withoutLocal(value: SaltValue): SaltValue {
  if (isMap(value)) value.delete('local');
  return value;
}
