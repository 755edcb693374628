// Brine's own HTTP API: the cases that were recorded at a stock salt-api, on the same lab.
import { freePorts } from '@brine/testing';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { Lab } from '../transcripts/lab.ts';
import { takeTurn } from '../transcripts/one-lab.ts';
import { HTTP_DIFFERENCES } from './differences.ts';
import { HttpClient } from './http-client.ts';
import { HttpCases, httpCases } from './recorded-http.ts';

/** For all cases, on a machine three times slower than the one that they were written on. */
const LIMIT_MS = 1_200_000;
const TURN_MS = 5_400_000;

let endTurn: (() => void) | undefined;
let lab: Lab;
let http: HttpClient;

beforeAll(async () => {
  endTurn = await takeTurn();
}, TURN_MS);
beforeAll(async () => {
  const [port = 0] = await freePorts(1);
  const web = { host: '127.0.0.1', port, disable_ssl: true, expire_responses: false };
  // Those of the recording.
  lab = await Lab.start('3008.2', '3006.26', { rest_cherrypy: web });
  http = new HttpClient(port);
}, LIMIT_MS);
afterAll(async () => {
  try {
    await lab?.close();
  } finally {
    endTurn?.();
  }
});

it(
  'each recorded case is answered as by the stock master, but for the listed ones',
  async () => {
    const listed = new Set(HTTP_DIFFERENCES.map(({ name }) => name));
    const verdicts = await new HttpCases(lab, http).judge(httpCases('3008.2'), listed);
    const equal = verdicts.filter((one) => one.equal).length;
    process.stdout.write(`http-api: ${equal} of ${verdicts.length} cases are equal\n`);
    const wrong = verdicts.filter((one) => !one.equal && !listed.has(one.name));
    expect(wrong.map(({ name, diff }) => `${name}\n${diff}`).join('\n\n')).toBe('');
    const healed = verdicts.filter((one) => one.equal && listed.has(one.name));
    expect(healed.map(({ name }) => name)).toEqual([]);
  },
  LIMIT_MS,
);
