// Engines of a site in Python, as a stock master runs them, under Brine.
import { createSocket } from 'node:dgram';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { BrineMaster, saltVenv } from '@brine/testing';
import { until } from '@brine/testing/waits';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

/** It reads the event sockets otherwise than the Salt of the host, of which there is none here. */
const SALT = '3006.30';

/** Hears events of the bus and answers them, by Salt's own helpers. */
const ENGINE = `
import salt.utils.event

def start(greeting):
    with salt.utils.event.get_master_event(__opts__, __opts__["sock_dir"]) as bus:
        while True:
            event = bus.get_event(tag="ask/", full=True, wait=5)
            if event:
                bus.fire_event({"greeting": greeting, "of": event["tag"]}, "answered")
`;

/** Hears what devices of a network say, as Salt's engines for them do, and fires it. */
const DEVICES = `
import socket
import salt.utils.event

def start(host):
    listener = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    listener.bind((host, 0))
    bus = salt.utils.event.get_master_event(__opts__, __opts__["sock_dir"], listen=False)
    bus.fire_event({"port": listener.getsockname()[1]}, "devices/listen")
    while True:
        text, (address, _) = listener.recvfrom(4096)
        bus.fire_event({"line": text.decode(), "from": address}, "devices/syslog/" + address)
`;

const PATIENT = { withinMs: 90_000 };

describe('an engine in Python', () => {
  let master: BrineMaster;

  beforeAll(async () => {
    const { python } = await saltVenv(SALT);
    master = await BrineMaster.start(
      { brine: { python } },
      {
        onHome: async ({ configDir }) => {
          const dir = join(configDir, 'engines');
          await mkdir(dir, { recursive: true });
          await writeFile(join(dir, 'answers.py'), ENGINE);
          await writeFile(join(dir, 'devices.py'), DEVICES);
          const engines = [
            { answers: { greeting: 'hello' } },
            { devices: { host: '127.0.0.1' } },
            'nosuch',
          ];
          await mkdir(join(configDir, 'master.d'), { recursive: true });
          const text = `engines_dirs: [${dir}]\nengines: ${JSON.stringify(engines)}\n`;
          await writeFile(join(configDir, 'master.d', 'engines.conf'), text);
        },
      },
    );
  }, 900_000);
  afterAll(async () => {
    await master?.close();
  });

  async function replayed(tag: string): Promise<string> {
    return (await master.brine('run', ['event.replay', 'from=5m', `tag=${tag}`])).stdout;
  }

  it('hears events of the bus, and fires on it', async () => {
    await until(
      'it answers',
      async () => {
        await master.brine('run', ['event.send', 'ask/1', '{}']);
        return (await replayed('answered')).includes('"greeting": "hello"');
      },
      PATIENT,
    );
  });

  it('that listens on the network fires what it hears', async () => {
    const port = await until(
      'it listens',
      async () => /"port": (\d+)/.exec(await replayed('devices/listen'))?.[1],
      PATIENT,
    );
    const device = createSocket('udp4');
    await new Promise<void>((resolve, reject) => {
      const line = 'RT_FLOW: link is down';
      device.send(line, Number(port), '127.0.0.1', (error) => (error ? reject(error) : resolve()));
    });
    device.close();
    await until(
      'the event is in the stream',
      async () => (await replayed('devices/syslog/127.0.0.1')).includes('link is down'),
      PATIENT,
    );
  });

  it('that Salt does not have is refused, and not tried again', async () => {
    await until(
      'it is refused',
      async () => {
        const { stdout } = await master.brine('status', []);
        return /nosuch refused \(.*'nosuch\.start' is not available/.test(stdout);
      },
      PATIENT,
    );
    const log = await master.log();
    expect(log.match(/engine nosuch ended: .*; it is not started again/g)).toHaveLength(1);
  });
});
