import { createSocket } from 'node:dgram';
import { isIPv4 } from 'node:net';

const MAC_BYTES = 6;
const REPEATS = 16;

/** The packet that wakes a machine: six bytes of ones, then its address sixteen times. */
export function magicPacket(mac: Uint8Array): Buffer {
  if (mac.length !== MAC_BYTES) throw new RangeError('a hardware address has six bytes');
  return Buffer.concat([Buffer.alloc(MAC_BYTES, 0xff), ...Array<Uint8Array>(REPEATS).fill(mac)]);
}

/**
 * Sends the packet that wakes a machine, by UDP to an IPv4 address, also to a broadcast address.
 * @throws Error if it could not be sent
 */
export async function wake(mac: Uint8Array, address: string, port: number): Promise<void> {
  // A lookup of a name might hang.
  if (!isIPv4(address)) throw new Error(`${address} is no IPv4 address`);
  const packet = magicPacket(mac);
  const socket = createSocket('udp4');
  try {
    await new Promise<void>((resolve, reject) => {
      socket.once('error', reject);
      socket.bind(0, () => {
        socket.setBroadcast(true);
        socket.send(packet, port, address, (error) => (error === null ? resolve() : reject(error)));
      });
    });
  } finally {
    socket.close();
  }
}
