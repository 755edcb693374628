import { constants } from 'node:fs';
import { access } from 'node:fs/promises';
import { join } from 'node:path';
import { type LocalClient, RefusedError, yamlArgument } from '@brine/client';
import type { MasterOptions } from '@brine/config';
import { isMap, mapOf, type SaltMap, type SaltValue } from '@brine/wire';
import { EXIT, Exit } from '../exit-codes.ts';
import { systemUser } from '../master-config.ts';
import { isOn, type ParsedOptions, textValue } from '../options/option.ts';
import type { Terminal } from '../terminal.ts';
import type { SaltCommand } from './read-command.ts';
import type { SaltRun } from './salt-run.ts';
import { keepToken, keptToken } from './token-file.ts';

// The authentication modules that 3008.2 names in its error text.
const EAUTH_MODULES = ['auto', 'file', 'ldap', 'pam', 'rest', 'sharedsecret'];

/**
 * What stands in the publish load's `kwargs`: options that the master hands on, and the
 * credentials where `-a` was given (Salt: salt/cli/salt.py _run).
 * @throws Exit 2 where the login cannot be tried.
 */
export async function login(
  run: Omit<SaltRun, 'command'>,
  _command: SaltCommand,
): Promise<SaltMap> {
  const { options } = run;
  const batch = isOn(options, 'static') || textValue(options, 'batch') !== undefined;
  if (batch && textValue(options, 'durable') !== undefined) {
    throw new Exit(EXIT.usage, 'salt: error: --durable does not go with --batch or --static\n');
  }
  const kwargs = batch ? new Map<SaltValue, SaltValue>() : optionKwargs(options);
  const credentials = await credentialsFor({ ...run, client: run.link.client });
  for (const [name, value] of credentials) kwargs.set(name, value);
  return kwargs;
}

/**
 * What proves who calls, beside the local key: a token that `-T` kept, where the key of root is not
 * ours to read; else what `-a` asks for; else nothing (Salt: salt/cli/salt.py, salt/runner.py).
 * @throws Exit 2 where the login cannot be tried.
 */
export async function credentialsFor(run: {
  readonly options: ParsedOptions;
  readonly config: MasterOptions;
  readonly terminal: Terminal;
  readonly client: LocalClient;
}): Promise<SaltMap> {
  const { options, config, terminal, client } = run;
  const kept = await keptToken(config);
  if (kept !== undefined) {
    return (await isReadable(join(config.cachedir, '.root_key')))
      ? mapOf({})
      : mapOf({ token: kept });
  }
  const eauth = textValue(options, 'eauth');
  if (eauth === undefined) return mapOf({});
  const credentials = await askCredentials(eauth, options, terminal);
  const token = isOn(options, 'mktoken') ? await makeToken(client, eauth, credentials) : undefined;
  return mapOf(token === undefined ? { ...Object.fromEntries(credentials), eauth } : { token });
}

async function isReadable(path: string): Promise<boolean> {
  try {
    await access(path, constants.R_OK);
    return true;
  } catch {
    // Not there, or not ours.
    return false;
  }
}

function optionKwargs(options: ParsedOptions): SaltMap {
  const parsed = (dest: string): SaltValue | undefined => {
    const text = textValue(options, dest);
    return text === undefined ? undefined : yamlArgument(text);
  };
  return mapOf({
    show_timeout: options.values.get('show_timeout') !== false,
    show_jid: isOn(options, 'show_jid'),
    delimiter: textValue(options, 'delimiter') ?? ':',
    ret_config: textValue(options, 'return_config'),
    ret_kwargs: parsed('return_kwargs'),
    module_executors: parsed('module_executors'),
    executor_opts: parsed('executor_opts'),
    metadata: withDurable(parsed('metadata'), textValue(options, 'durable')),
    start_event: isOn(options, 'start_event') ? true : undefined,
  });
}

/** A wish that stock command lines can express too, as `--metadata '{brine_durable: 2d}'`. */
function withDurable(metadata: SaltValue | undefined, ttl: string | undefined) {
  if (ttl === undefined) return metadata;
  const entries = isMap(metadata) ? metadata : new Map<SaltValue, SaltValue>();
  return new Map([...entries, ['brine_durable', ttl]]);
}

/** Asks for what is missing (Salt: salt/auth/__init__.py Resolver.cli). */
export async function askCredentials(
  eauth: string,
  options: ParsedOptions,
  terminal: Terminal,
): Promise<ReadonlyMap<string, string>> {
  if (!EAUTH_MODULES.includes(eauth)) {
    const names = EAUTH_MODULES.join(', ');
    terminal.out(`The specified external authentication system "${eauth}" is not available\n`);
    terminal.out(`Available eauth types: ${names}\n`);
    throw new Exit(EXIT.noReturn, 'ERROR: Authentication failed\n');
  }
  const username =
    textValue(options, 'username') ?? ((await terminal.ask('username: ', 'out')) || systemUser());
  const password = textValue(options, 'password') ?? (await terminal.askSecret('password: ')) ?? '';
  return new Map([
    ['username', username],
    ['password', password],
  ]);
}

async function makeToken(
  client: LocalClient,
  eauth: string,
  credentials: ReadonlyMap<string, string>,
): Promise<string | undefined> {
  const load = mapOf({ cmd: 'mk_token', eauth, ...Object.fromEntries(credentials) });
  try {
    const token = (await client.command(load)).get('token');
    if (typeof token !== 'string') return undefined;
    await keepToken(token);
    return token;
  } catch (error) {
    // No token: the credentials go with the command itself, and are refused there if need be.
    if (error instanceof RefusedError) return undefined;
    throw error;
  }
}
