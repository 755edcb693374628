import { PrivateKey } from '@brine/crypt';
import { TestPeer } from '@brine/testing/peers';
import { aesFrames, deadlyFrames, leavingFrames } from './aes-frames.ts';
import { clearFrames } from './clear-frames.ts';
import type { Cast, Frame } from './frames.ts';
import { outcomeOf } from './outcome.ts';

/** Outcomes by the names of the frames. */
export type Outcomes = Readonly<Record<string, string>>;

/** Keys of the minions of the table, which must be accepted before. */
export interface TableKeys {
  readonly a: PrivateKey;
  readonly b: PrivateKey;
  readonly leaver: PrivateKey;
}

/** The minions by their ids. */
export function tableMinions({ a, b, leaver }: TableKeys): [string, PrivateKey][] {
  return [
    ['a', a],
    ['b', b],
    ['leaver', leaver],
  ];
}

/** Makes the keys of the three minions. */
export async function tableKeys(): Promise<TableKeys> {
  const [a, b, leaver] = await Promise.all([1, 2, 3].map(() => PrivateKey.generate(2048)));
  if (a === undefined || b === undefined || leaver === undefined) throw new Error('no keys');
  return { a, b, leaver };
}

/** All frames in the order in which they are sent. */
export function allFrames(): Frame[] {
  return [...clearFrames(), ...aesFrames(), ...leavingFrames(), ...deadlyFrames()];
}

/** Sends the whole table to a running master, one frame after the other. */
export async function runTable(
  keys: TableKeys,
  { port, rootKey }: { readonly port: number; readonly rootKey: string },
  onSilence: (name: string) => void = () => {},
): Promise<Outcomes> {
  const peers = tableMinions(keys).map(([id, key]) => new TestPeer(id, key, port));
  const [a, b, leaver] = peers;
  if (a === undefined || b === undefined || leaver === undefined) throw new Error('no peers');
  const cast: Cast = { a, b, leaver, rootKey };
  const outcomes: Record<string, string> = {};
  try {
    for (const peer of peers) await peer.signIn();
    for (const { name, make, twice } of allFrames()) {
      const sent = make(cast);
      const send = async (): Promise<string> => {
        const reply = await a.raw(sent.body).catch(() => undefined);
        if (reply !== undefined) return outcomeOf(reply, sent);
        // A late answer must not be taken for that of the next frame.
        a.close();
        onSilence(name);
        return 'no answer';
      };
      const first = await send();
      outcomes[name] = twice ? await send() : first;
    }
  } finally {
    for (const peer of peers) peer.close();
  }
  return outcomes;
}
