import { isMinionId } from '@brine/job';
import type { SaltMap, SaltValue } from '@brine/wire';
import { parseFileReceive } from '@brine/wire/load';
import type { MasterPorts } from '../ports/ports.ts';

const BYTES_PER_MB = 1024 * 1024;

/**
 * `_file_recv`: a piece of a file that a minion sends (`cp.push`), within `file_recv` and
 * `file_recv_max_size` (salt/master.py AESFuncs `_file_recv`). @throws WireError for a malformed
 * load
 */
export async function receiveFile(
  ports: MasterPorts,
  minion: string,
  load: SaltMap,
): Promise<SaltValue> {
  const { fileRecv } = ports.rules;
  if (fileRecv === undefined || !Array.isArray(load.get('path')) || !load.has('loc')) return false;
  const piece = parseFileReceive(load);
  if (piece.id !== minion || !isMinionId(minion)) return false;
  if (piece.loc + piece.data.length > fileRecv.maxMegabytes * BYTES_PER_MB) {
    ports.count('file_recv_too_large');
    return false;
  }
  const taken = await ports.received.write({ ...piece, id: minion });
  ports.count(taken ? 'file_recv_pieces' : 'file_recv_refused');
  return taken;
}
