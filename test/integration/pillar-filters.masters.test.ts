import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { BrineMaster } from '@brine/testing';
import { TestPeer } from '@brine/testing/peers';
import { mapOf } from '@brine/wire';
import { afterAll, beforeAll, expect, test } from 'vitest';

const server = createServer((request, response) => {
  response.end(`asked for ${request.url ?? ''}`);
});
let master: BrineMaster;
let port = 0;

beforeAll(async () => {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  ({ port } = server.address() as AddressInfo);
  master = await BrineMaster.start(
    { auto_accept: true, brine: { workers: 1 } },
    {
      onHome: ({ configDir }) => {
        const dir = join(configDir, 'pillar');
        writeFileSync(join(dir, 'top.sls'), "base: {'*': [asked]}\n");
        writeFileSync(
          join(dir, 'asked.sls'),
          [
            `web: {{ ('http://127.0.0.1:${port}/x'|http_query).body }}`,
            `again: {{ ('http://127.0.0.1:${port}/y'|http_query(status=true)).status }}`,
            `address: {{ 'localhost'|dns_check(${port}) }}`,
            `root: {{ 'root'|get_uid }}`,
            `shell: {{ 'sh'|which }}`,
            `grain: {{ grains.hosts|json_query('[?port > \`80\`].name') }}`,
          ].join('\n'),
        );
      },
    },
  );
}, 120_000);

afterAll(async () => {
  await master.close();
  server.closeAllConnections();
  server.close();
});

test('a pillar reaches the host and the network by the filters of Salt', async () => {
  const peer = await TestPeer.make('a', master.home.retPort);
  expect(await peer.tryToSignIn()).toBe(true);
  const hosts = [mapOf({ name: 'a', port: 80 }), mapOf({ name: 'b', port: 443 })];
  const asked = { saltenv: 'base', pillarenv: null, pillar_override: mapOf({}), ver: '2' };
  await peer.send(mapOf({ cmd: '_pillar', id: 'a', grains: mapOf({ id: 'a', hosts }), ...asked }));
  peer.close();
  const { stdout } = await master.brine('run', ['pillar.show_pillar', 'a', '--out', 'json']);
  expect(JSON.parse(stdout)).toEqual({
    web: 'asked for /x',
    again: 200,
    address: '127.0.0.1',
    root: 0,
    shell: '/usr/bin/sh',
    grain: ['b'],
  });
});
