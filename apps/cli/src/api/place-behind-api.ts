import { type ClientPorts, LocalClient, MasterUnreachableError, RefusedError } from '@brine/client';
import type { MasterOptions } from '@brine/config';
import type { Trace } from '@brine/telemetry';
import { codeFor, EXIT, Exit } from '../exit-codes.ts';
import { commandSettings, type LocalMaster } from '../local-master.ts';
import { specificUser } from '../master-config.ts';
import type { ApiCodes, MasterPlace, OpenMaster } from '../master-place.ts';
import { type ParsedOptions, textValue } from '../options/command-form.ts';
import { logLine, type Terminal, warnIneffective } from '../terminal.ts';
import { ApiConnection } from './api-connection.ts';
import { ApiRefusedError, ApiUnreachableError } from './api-errors.ts';
import { asClientError, eventsByApi, requestsByApi } from './api-master.ts';
import { chooseApi, endedText } from './choose-api.ts';
import { logIn } from './log-in.ts';
import { optionsFromApi, optionsWithoutFile } from './options-from-api.ts';

/** For the options of the master, and for a trace, ms. */
const ASK_MS = 10_000;
const TRACE_MS = 60_000;

/** Options of commands that name something of the master's host. */
const OF_HOST = [
  ['config_dir', '-c is for the master of this host'],
  ['eauth', '`brine login` logs in, not --auth'],
] as const;

/**
 * The master behind an API: logs in if there is no session, and asks for the master's options.
 * @throws Exit
 */
export async function placeBehindApi(
  options: ParsedOptions,
  terminal: Terminal,
  url: string | undefined,
  codes: ApiCodes,
): Promise<MasterPlace> {
  warnIneffective(terminal, options);
  for (const [dest, why] of OF_HOST) {
    if (textValue(options, dest) === undefined) continue;
    throw new Exit(EXIT.usage, `brine: error: --api: ${why}\n`);
  }
  const chosen = chooseApi(url);
  if (chosen.warning !== undefined) logLine(terminal, 'WARNING', chosen.warning);
  const { ca, proof } = chosen;
  const api = new ApiConnection(chosen.url, ca, 'token' in proof ? proof.token : undefined);
  try {
    if (!('token' in proof)) await logIn(api, proof);
    const { json } = await api.ask({ method: 'GET', path: '/commands/options', timeoutMs: ASK_MS });
    return placeOf(api, json, terminal);
  } catch (error) {
    api.close();
    throw exitFor(error, chosen.url, codes) ?? error;
  }
}

/** The end of a command that can not begin. */
function exitFor(error: unknown, url: string, codes: ApiCodes): Exit | undefined {
  const stock = EXIT.ok;
  const config = optionsWithoutFile();
  if (error instanceof ApiUnreachableError) {
    return new Exit(
      codeFor(config, { strict: codes.unreachable, stock }),
      brineLine(error.message),
    );
  }
  if (!(error instanceof ApiRefusedError)) return undefined;
  if (error.status === 503) {
    const code = codeFor(config, { strict: codes.unreachable, stock });
    return new Exit(code, brineLine(`${url}: ${error.message}`));
  }
  const hasEnded = error.code === 'not-logged-in';
  const text = hasEnded ? endedText(url) : `${url}: ${error.message}`;
  return new Exit(codeFor(config, { strict: codes.refused, stock }), brineLine(text));
}

function brineLine(text: string): string {
  return `brine: ${text}\n`;
}

function placeOf(api: ApiConnection, json: unknown, terminal: Terminal): MasterPlace {
  const given = (json ?? {}) as Readonly<Record<string, unknown>>;
  const config = optionsFromApi(given['options'], Boolean(process.env['BRINE_EXIT_CODES']));
  const open = (how: OpenMaster = {}): LocalMaster => openByApi(api, config, how, terminal);
  return {
    config,
    api: {
      readsAll: given['readsAll'] === true,
      readTrace: (jid) => readTrace(api, jid, terminal),
    },
    open,
    look: (timeoutMs) => open({ timeoutMs }),
  };
}

function openByApi(
  api: ApiConnection,
  config: MasterOptions,
  { events: scope = 'own', ...overrides }: OpenMaster,
  terminal: Terminal,
): LocalMaster {
  const listen: ClientPorts['events']['listen'] = (onEvent) =>
    eventsByApi(api, scope, onEvent, terminal);
  const client = new LocalClient(
    {
      request: requestsByApi(api, terminal),
      events: { listen },
      master: { isPresent: () => true, readKey: () => Promise.resolve('') },
      logError: (text) => logLine(terminal, 'ERROR', text),
    },
    // The API expands node groups.
    { ...commandSettings(config, specificUser()), nodegroups: undefined, ...overrides },
  );
  return {
    client,
    // Events of runs do not name who began them in each part.
    listen: async (onEvent) => {
      try {
        return await eventsByApi(api, 'all', onEvent, terminal);
      } catch (error) {
        throw asClientError(api, error, terminal);
      }
    },
    close: async () => {
      await client.close();
      api.close();
    },
  };
}

/** @throws Exit 1 without the right, MasterUnreachableError */
async function readTrace(api: ApiConnection, jid: string, terminal: Terminal): Promise<Trace> {
  const path = `/jobs/${encodeURIComponent(jid)}/trace`;
  try {
    const { json } = await api.ask({ method: 'GET', path, timeoutMs: TRACE_MS });
    return json as Trace;
  } catch (error) {
    const known = asClientError(api, error, terminal);
    if (known instanceof RefusedError || known instanceof MasterUnreachableError) {
      throw new Exit(EXIT.generic, `${known.message}\n`);
    }
    throw known;
  }
}
