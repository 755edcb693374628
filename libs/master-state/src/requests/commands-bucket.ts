import { createHash } from 'node:crypto';
import { type Bucket, type BucketEntry, escapeKey } from '@brine/bus';
import type { CommandRecord, Commands } from '@brine/master';
import { pack, unpack } from '@brine/wire';
import { fromHotState } from '../hot-state.ts';

const WHAT = 'commands';

/** Commands that their clients may send again, in the bucket `brine_commands`. */
export class BucketCommands implements Commands {
  readonly #bucket: Pick<Bucket, 'create' | 'get' | 'put'>;

  constructor(bucket: Pick<Bucket, 'create' | 'get' | 'put'>) {
    this.#bucket = bucket;
  }

  async find(key: string): Promise<CommandRecord | undefined> {
    const entry = await fromHotState(WHAT, this.#bucket.get(keyOf(key)));
    return entry && read(entry);
  }

  async begin(key: string, { jid, body }: Omit<CommandRecord, 'isDone'>): Promise<CommandRecord> {
    const created = this.#bucket.create(keyOf(key), pack([jid, body, false]));
    const isOurs = (await fromHotState(WHAT, created)) !== undefined;
    const kept = isOurs ? undefined : await this.find(key);
    return kept ?? { jid, body, isDone: false };
  }

  async done(key: string, { jid, body }: Omit<CommandRecord, 'isDone'>): Promise<void> {
    await fromHotState(WHAT, this.#bucket.put(keyOf(key), pack([jid, body, true])));
  }
}

/** Of one length, whatever a client names its command. */
function keyOf(key: string) {
  return escapeKey(createHash('sha256').update(key).digest('hex'));
}

function read({ value }: BucketEntry): CommandRecord {
  const note = unpack(value);
  const [jid, body, isDone] = Array.isArray(note) ? note : [];
  return {
    jid: typeof jid === 'string' ? jid : '',
    body: typeof body === 'string' ? body : '',
    isDone: isDone === true,
  };
}
