import { isMap, mapOf, type SaltValue } from '@brine/wire';
import { pyStr, splitLines, strip } from '@brine/wire/text';
import { masterOf, type RunnerContext, type RunnerFunction } from '../function.ts';

const BROADCAST = [
  ['bcast', '255.255.255.255'],
  ['destport', 9],
] as const;

const ABOUT = 'bcast: where it is sent (default 255.255.255.255). destport: its port (default 9).';

const LIST_MAX_BYTES = 1024 * 1024;
/** Limit of machines that one call wakes. */
const WAKE_MAX = 10_000;

/** The bytes of a MAC address with or without separators (salt/utils/network.py). */
export function macBytes(text: string): Uint8Array {
  const plain = text.length === 17 ? text.replaceAll(text[2] ?? '', '') : text;
  if (plain.length !== 12 || !/^[0-9a-fA-F]+$/.test(plain)) throw new Error('Invalid MAC address');
  return Buffer.from(plain, 'hex');
}

async function wake(
  context: RunnerContext,
  mac: string,
  named: ReadonlyMap<string, SaltValue>,
): Promise<void> {
  const port = Number(pyStr(named.get('destport') ?? 9));
  if (!Number.isInteger(port) || port < 1 || port > 65_535) throw new Error('destport is no port');
  await masterOf(context).outgoing.wake(macBytes(mac), pyStr(named.get('bcast') ?? ''), port);
}

const wol: RunnerFunction = {
  name: 'network.wol',
  parameters: [['mac'], ...BROADCAST],
  doc: `Sends the packet that wakes a machine. mac: its hardware address. ${ABOUT}`,
  async run({ named }, context) {
    await wake(context, pyStr(named.get('mac') ?? ''), named);
    return { value: true };
  },
};

const wollist: RunnerFunction = {
  name: 'network.wollist',
  parameters: [['maclist'], ...BROADCAST],
  doc:
    'Wakes the machines of a list; shows their addresses. maclist: a file on the host of the ' +
    `worker, one address per line. ${ABOUT}`,
  async run({ named }, context) {
    const master = masterOf(context);
    const path = pyStr(named.get('maclist') ?? '');
    const woken: string[] = [];
    try {
      const bytes = await master.hostFiles.readBounded(path, LIST_MAX_BYTES);
      if (bytes === undefined) throw new Error(`[Errno 2] No such file or directory: '${path}'`);
      const lines = splitLines(Buffer.from(bytes).toString('utf8')).map(strip);
      if (lines.length > WAKE_MAX) throw new Error(`more than ${WAKE_MAX} addresses`);
      for (const mac of lines) {
        await wake(context, mac, named);
        context.out(`Waking up ${mac}\n`);
        woken.push(mac);
      }
    } catch (error) {
      const text = `Failed to open the MAC file. Error: ${(error as Error).message}`;
      await master.fire(`salt/run/${master.call.jid}/progress`, mapOf({ error: text }));
      context.out(`${text}\n`);
      return { value: [] };
    }
    return { value: woken };
  },
};

const wolmatch: RunnerFunction = {
  name: 'network.wolmatch',
  parameters: [['tgt'], ['tgt_type', 'glob'], ...BROADCAST],
  doc:
    'Wakes the minions that match, by the hardware addresses in their cached grains; shows ' +
    'these. ' +
    `tgt, tgt_type: the target (default glob). ${ABOUT}`,
  async run({ named }, context) {
    const args = [named.get('tgt') ?? null, named.get('tgt_type') ?? null];
    const asked = { args, kwargs: mapOf({}) };
    const { value: minions } = await masterOf(context).run('cache.grains', asked);
    const woken: string[] = [];
    for (const grains of isMap(minions) ? minions.values() : []) {
      const interfaces = isMap(grains) ? grains.get('hwaddr_interfaces') : undefined;
      for (const [name, mac] of isMap(interfaces) ? interfaces : []) {
        if (name === 'lo') continue;
        if (woken.length >= WAKE_MAX) throw new Error(`more than ${WAKE_MAX} addresses`);
        const address = strip(pyStr(mac));
        await wake(context, address, named);
        woken.push(address);
      }
    }
    return { value: woken };
  },
};

/** `network.*` of `salt-run` (salt/runners/network.py). */
export const NETWORK_RUNNER: readonly RunnerFunction[] = [wol, wollist, wolmatch];
