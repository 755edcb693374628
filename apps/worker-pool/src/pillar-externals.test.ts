import type { PillarMinion, PillarOptions } from '@brine/pillar';
import { mapOf } from '@brine/wire';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { Externals, type ExternalsData } from './pillar-externals.ts';

let server: Server;
let url = '';
let asked = 0;

beforeAll(async () => {
  server = createServer((_request, answer) => {
    asked += 1;
    answer.end('{"a": 1}');
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
});
afterAll(() => server.close());
beforeEach(() => void (asked = 0));

async function askFor(ext: PillarMinion['ext'], options: Partial<PillarOptions>) {
  const settings = { pillarRoots: {}, nodegroups: {}, log: () => undefined };
  const given = { extPillar: [], excludeExtPillar: [], onDemandExtPillar: [], ...options };
  // What git and PostgreSQL need is not reached.
  const externals = new Externals({} as ExternalsData, settings, given as unknown as PillarOptions);
  const minion = { id: 'a', grains: mapOf({}), saltenv: null, pillarenv: null, ext };
  await externals.askEarly({ ...minion, override: mapOf({}) });
}

test('CVE-2025-22237, CVE-2025-22241: no service is asked because a minion names it', async () => {
  await askFor(mapOf({ http_json: url }), { onDemandExtPillar: ['libvirt', 'virtkey'] });
  // One name that is not allowed refuses all of them.
  await askFor(mapOf({ http_json: url, http_yaml: url }), { onDemandExtPillar: ['http_json'] });
  expect(asked).toBe(0);
});

test('what the configuration names is asked, and of a minion what it may', async () => {
  await askFor(null, { extPillar: [mapOf({ http_json: url })] });
  await askFor(mapOf({ http_json: url }), { onDemandExtPillar: ['http_json'] });
  expect(asked).toBe(2);
});
