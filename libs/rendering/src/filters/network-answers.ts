import { lookup } from 'node:dns/promises';
import { connect } from 'node:net';
import { setTimeout } from 'node:timers/promises';
import { askWeb } from '@brine/outgoing';
import { queryWeb } from '@brine/runners';
import { mapIn, mapOf, type SaltMap, type SaltValue, textOf } from '@brine/wire';
import { DNS_CHECK, HTTP_QUERY } from './network-questions.ts';

/** Longest wait of one question: a whole render has 45 s. */
const ANSWER_MAX_MS = 20_000;
/** Time for one connection, as in Salt. */
const CONNECT_MS = 2_000;
/** Addresses of one name that are tried; Salt tries all. */
const ADDRESSES_MAX = 8;

/**
 * Answers a template's questions to the network, within a time. A query that takes longer ends with
 * an error. A lookup that takes longer ends with an address that was not tried, or none. Rejects
 * for another operation.
 */
export function answerNetwork(
  op: string,
  given: SaltMap,
  maxMs = ANSWER_MAX_MS,
): Promise<SaltValue> {
  switch (op) {
    case DNS_CHECK:
      return reachable(given, performance.now() + maxMs);
    case HTTP_QUERY:
      return asked(mapIn(given, 'given') ?? mapOf({}), mapIn(given, 'opts') ?? mapOf({}), maxMs);
    default:
      return Promise.reject(new Error(`no such operation: ${op}`));
  }
}

/** The first address that accepts a connection, else the first of all; null without any. */
async function reachable(given: SaltMap, until: number): Promise<string | null> {
  const [name, ipv6] = [textOf(given, 'addr') ?? '', given.get('ipv6') ?? null];
  const port = Number(given.get('port'));
  let found = await addressesOf(name, ipv6 === true ? 6 : ipv6 === false ? 4 : 0, until);
  if (found.length === 0 && ipv6 === true) found = await addressesOf(name, 4, until);
  for (const address of found.slice(0, ADDRESSES_MAX)) {
    const leftMs = until - performance.now();
    if (leftMs <= 0) break;
    if (await connects(address, port, Math.min(leftMs, CONNECT_MS))) return address;
  }
  return found[0] ?? null;
}

async function addressesOf(
  name: string,
  family: 0 | 4 | 6,
  until: number,
): Promise<readonly string[]> {
  const ended = new AbortController();
  try {
    const asking = lookup(name, { all: true, family, verbatim: true });
    const late = setTimeout(Math.max(until - performance.now(), 0), [], { signal: ended.signal });
    // Nothing waits for an answer or an error after the timeout.
    const all = await Promise.race([asking, late]);
    return [...new Set(all.map(({ address }) => address))];
  } catch {
    return []; // The template sees that the lookup failed.
  } finally {
    ended.abort();
  }
}

function connects(host: string, port: number, maxMs: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect({ host, port, timeout: maxMs });
    const end = (isThere: boolean): void => {
      socket.destroy();
      resolve(isThere);
    };
    socket.once('connect', () => end(true));
    socket.once('timeout', () => end(false));
    socket.once('error', () => end(false));
  });
}

/** `{value}` as `http.query` gives it, or `{refused}` for unsupported requests. */
async function asked(given: SaltMap, opts: SaltMap, maxMs: number): Promise<SaltMap> {
  try {
    const value = await queryWeb(given, {
      option: (name) => opts.get(name),
      web: (request) => askWeb({ ...request, timeoutMs: Math.min(request.timeoutMs, maxMs) }),
    });
    return mapOf({ value });
  } catch (error) {
    return mapOf({ refused: (error as Error).message });
  }
}
