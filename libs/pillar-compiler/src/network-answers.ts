import { lookup } from 'node:dns/promises';
import { connect } from 'node:net';
import { askWeb } from '@brine/outgoing';
import { queryWeb } from '@brine/runners';
import { mapIn, mapOf, type SaltMap, type SaltValue, textOf } from '@brine/wire';
import { DNS_CHECK, HTTP_QUERY } from './network-questions.ts';

/** Longest wait of one question: a render has 45 s in all. */
export const ANSWER_MAX_MS = 20_000;
/** One try to connect, as in Salt. */
const CONNECT_MS = 2_000;
/** Addresses of one name that are tried; Salt tries all. */
const ADDRESSES_MAX = 8;

/** Answers what a template asks of the network. Rejects with what goes to the template. */
export function answerNetwork(op: string, given: SaltMap): Promise<SaltValue> {
  switch (op) {
    case DNS_CHECK:
      return reachable(given);
    case HTTP_QUERY:
      return asked(mapIn(given, 'given') ?? mapOf({}), mapIn(given, 'opts') ?? mapOf({}));
    default:
      return Promise.reject(new Error(`no such operation: ${op}`));
  }
}

/** The first address that lets itself be connected to, or the first of all; null for none. */
async function reachable(given: SaltMap): Promise<string | null> {
  const [name, ipv6] = [textOf(given, 'addr') ?? '', given.get('ipv6') ?? null];
  const port = Number(given.get('port'));
  let found = await addressesOf(name, ipv6 === true ? 6 : ipv6 === false ? 4 : 0);
  if (found.length === 0 && ipv6 === true) found = await addressesOf(name, 4);
  for (const address of found.slice(0, ADDRESSES_MAX)) {
    if (await connects(address, port)) return address;
  }
  return found[0] ?? null;
}

async function addressesOf(name: string, family: 0 | 4 | 6): Promise<readonly string[]> {
  try {
    const all = await lookup(name, { all: true, family, verbatim: true });
    return [...new Set(all.map(({ address }) => address))];
  } catch {
    return []; // The template is told that the lookup failed.
  }
}

function connects(host: string, port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect({ host, port, timeout: CONNECT_MS });
    const end = (isThere: boolean): void => {
      socket.destroy();
      resolve(isThere);
    };
    socket.once('connect', () => end(true));
    socket.once('timeout', () => end(false));
    socket.once('error', () => end(false));
  });
}

/** `{value}` as `http.query` gives it, or `{refused}` for what is not served. */
async function asked(given: SaltMap, opts: SaltMap): Promise<SaltMap> {
  try {
    const value = await queryWeb(given, {
      option: (name) => opts.get(name),
      web: (request) =>
        askWeb({ ...request, timeoutMs: Math.min(request.timeoutMs, ANSWER_MAX_MS) }),
    });
    return mapOf({ value });
  } catch (error) {
    return mapOf({ refused: (error as Error).message });
  }
}
