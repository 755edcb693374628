import { mapOf } from '@brine/wire';
import { expect, test } from 'vitest';
import { memoryHost } from '../../test/memory-host.ts';
import { JID, sceneOf } from '../../test/runner-master.ts';
import { macBytes } from './network.ts';

function scene(files: readonly (readonly [string, string])[] = []) {
  const sent: unknown[] = [];
  const wake = async (mac: Uint8Array, ...rest: unknown[]) =>
    void sent.push([Buffer.from(mac).toString('hex'), ...rest]);
  const grains = mapOf({
    web1: mapOf({
      hwaddr_interfaces: mapOf({ lo: '00:00:00:00:00:00', eth0: '08:00:27:13:69:77' }),
    }),
    web2: mapOf({}),
  });
  const made = sceneOf([], {
    more: {
      outgoing: { wake },
      hostFiles: memoryHost(new Map(files)),
      run: async (fun: string) => {
        if (fun !== 'cache.grains') throw new Error(fun);
        return { value: grains };
      },
    } as never,
  });
  return { sent, ...made };
}

test('an address may be written in Salt’s ways', () => {
  for (const text of ['08-00-27-13-69-77', '080027136977', '08:00:27:13:69:77']) {
    expect(Buffer.from(macBytes(text)).toString('hex')).toBe('080027136977');
  }
  for (const text of ['', '0800', '08:00:27:13:69:7g', '0x0027136977', '/etc/shadow root:x']) {
    expect(() => macBytes(text)).toThrow('Invalid MAC address');
  }
});

test('one machine, those of a list and those that match are woken', async () => {
  const { value, sent, printed } = scene([['/macs', '08:00:27:13:69:77\n080027136978\n']]);
  expect(await value('network.wol', ['080027136977', '10.0.0.255', '7'])).toBe(true);
  expect(await value('network.wollist', ['/macs'])).toEqual(['08:00:27:13:69:77', '080027136978']);
  expect(printed).toEqual(['Waking up 08:00:27:13:69:77\n', 'Waking up 080027136978\n']);
  expect(await value('network.wolmatch', ['web*'])).toEqual(['08:00:27:13:69:77']);
  expect(sent).toEqual([
    ['080027136977', '10.0.0.255', 7],
    ['080027136977', '255.255.255.255', 9],
    ['080027136978', '255.255.255.255', 9],
    ['080027136977', '255.255.255.255', 9],
  ]);
});

test('a list that is none shows nothing of itself', async () => {
  const { value, fired } = scene([['/etc/shadow', 'root:secret\n']]);
  expect(await value('network.wollist', ['/etc/shadow'])).toEqual([]);
  expect(await value('network.wollist', ['/none'])).toEqual([]);
  expect(fired.map(([tag, data]) => [tag, data.get('error')])).toEqual([
    [`salt/run/${JID}/progress`, 'Failed to open the MAC file. Error: Invalid MAC address'],
    [
      `salt/run/${JID}/progress`,
      "Failed to open the MAC file. Error: [Errno 2] No such file or directory: '/none'",
    ],
  ]);
});

test('a port that is none is refused', async () => {
  const { run, sent } = scene();
  expect((await run('network.wol', ['080027136977', '10.0.0.255', 0])).success).toBe(false);
  expect((await run('network.wol', ['080027136977', '10.0.0.255', 'x'])).success).toBe(false);
  expect(sent).toEqual([]);
});
