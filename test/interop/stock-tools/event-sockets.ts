import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { dialectOf } from '@brine/cachedir';
import { Readers } from '@brine/host';
import type { SaltVenv, SaltVersion } from '@brine/testing';
import { releaseOf, saltVenv } from '@brine/testing';
import { until } from '@brine/testing/waits';
import { mapOf, pack, unpackMap } from '@brine/wire';
import { splitEvent } from '@brine/wire/frames';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { HostSockets } from '../../../apps/event-bus/src/adapters/host-sockets.ts';

/** Reads two events with the real library, then fires one of its own. */
const CLIENT = `
import json, sys
import salt.config, salt.utils.event, salt.version
opts = salt.config.master_config("/dev/null")
opts["sock_dir"] = sys.argv[1]
with salt.utils.event.get_event("master", sock_dir=sys.argv[1], opts=opts, listen=True) as bus:
    assert bus.connect_pub(timeout=5)
    print(json.dumps({"listening": salt.version.__version__}), flush=True)
    for tag in ("salt/job/1/new", "salt/job/1/ret"):
        event = bus.get_event(wait=20, tag=tag, full=True)
        data = event["data"]
        print(json.dumps({"tag": event["tag"], "data": data}, default=repr), flush=True)
    print(json.dumps({"fired": bus.fire_event(
        {"a": 1, "b": b"\\xff\\x00", "t": "\\u00e9"}, "my/tag")}))
`;

/** The event library of each release reads and writes what our sockets speak. */
export function describeEventSockets(versions: readonly SaltVersion[]): void {
  describe('the event library of real Salt', () => {
    const venvs = new Map<string, SaltVenv>();
    let dir = '';
    beforeAll(async () => {
      dir = mkdtempSync(join(tmpdir(), 'evs-'));
      for (const version of versions) venvs.set(version, await saltVenv(version));
    });
    afterAll(() => rmSync(dir, { recursive: true, force: true }));

    const cases = versions.flatMap((version) => [
      { version, place: 'sock_dir' },
      { version, place: releaseOf(version).framing },
    ]);
    it.each(cases)('of $version reads and writes the sockets in $place', async (one) => {
      const sockDir = join(dir, `${one.version}-${one.place}`);
      const fired: Uint8Array[] = [];
      const sockets = await HostSockets.open({
        sockDir,
        dialect: dialectOf(one.version),
        readableByGroup: false,
        onEvent: (event) => {
          fired.push(event);
          return Promise.resolve();
        },
        onTrouble: (text) => expect.fail(text),
      });
      const readers = new Readers(sockets.readerSockets, 1_048_576);
      const python = venvs.get(one.version)?.python ?? '';
      const where = one.place === 'sock_dir' ? sockDir : join(sockDir, one.place);
      const client = spawn(python, ['-c', CLIENT, where], { stdio: ['ignore', 'pipe', 'pipe'] });
      const lines: Record<string, unknown>[] = [];
      createInterface({ input: client.stdout }).on('line', (line) => lines.push(JSON.parse(line)));
      let errors = '';
      client.stderr.on('data', (chunk: Buffer) => (errors += chunk.toString()));
      const exited = new Promise<number | null>((resolve) => client.once('exit', resolve));

      await until('the client listens', () => expect(lines, errors).toHaveLength(1), {
        withinMs: 60_000,
      });
      await until('the socket has its reader', () => expect(readers.count).toBe(1));
      // The first two in one write: a single read of the client may hold many frames.
      readers.fireMap('salt/job/1/new', mapOf({ jid: '1', minions: ['m1'] }), Date.now());
      const raw = pack(mapOf({ id: 'm1', return: Buffer.from([0xff, 0]), text: 'é' }));
      readers.fire({ kind: 'ret', tag: 'salt/job/1/ret/m1', body: raw, timeMs: Date.now() });

      expect(await exited, errors).toBe(0);
      expect(lines.slice(1)).toMatchObject([
        { tag: 'salt/job/1/new', data: { jid: '1', minions: ['m1'] } },
        { tag: 'salt/job/1/ret/m1', data: { id: 'm1', return: "b'\\xff\\x00'", text: 'é' } },
        { fired: true },
      ]);
      await until('the event of the client is received', () => expect(fired).toHaveLength(1));
      const { tag, data } = splitEvent(fired[0] ?? new Uint8Array());
      expect(tag).toBe('my/tag');
      const map = unpackMap(data);
      expect(map.delete('_stamp')).toBe(true);
      expect(map).toEqual(mapOf({ a: 1, b: Buffer.from([0xff, 0]), t: 'é' }));
      await sockets.close();
    });
  });
}
