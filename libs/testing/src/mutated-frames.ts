import { encodeMessage } from '@brine/zmq';
import { vectorFile } from './recorded-vectors.ts';

interface Vector {
  readonly request: string;
}

/** Frames of real peers, without those too large to be of use here. */
export function seedFrames(): Buffer[] {
  const { requests, odd } = vectorFile<{ requests: Vector[]; odd: Vector[] }>('requests.json');
  const { clear } = vectorFile<{ clear: Vector[] }>('publish.json');
  const { cases } = vectorFile<{ cases: Vector[] }>('auth.json');
  return [...requests, ...odd, ...clear, ...cases]
    .map(({ request }) => Buffer.from(request, 'base64'))
    .filter((frame) => frame.length < 20_000);
}

/** One hostile frame. */
export interface Mutated {
  readonly bytes: Buffer;
  /** A whole ZMTP message around a broken payload; else the framing itself is broken. */
  readonly whole: boolean;
}

/** Breaks a frame of real Salt in one of many ways. */
export function mutated(seeds: readonly Buffer[], random: () => number): Mutated {
  const below = (limit: number): number => Math.floor(random() * limit);
  const pick = (): Buffer => Buffer.from(seeds[below(seeds.length)] ?? Buffer.alloc(1));
  const frame = pick();
  const at = below(Math.max(1, frame.length));
  switch (below(10)) {
    case 0:
      return { bytes: frame.subarray(0, at), whole: true };
    case 1:
      return { bytes: Buffer.concat([frame, pick().subarray(0, 40)]), whole: true };
    case 2:
      return { bytes: Buffer.concat([frame.subarray(0, at), pick().subarray(at)]), whole: true };
    case 3:
      for (let n = below(20); n >= 0; n--) frame[below(frame.length)] = below(256);
      return { bytes: frame, whole: true };
    case 4:
      // Heads of containers and long strings that announce more than follows.
      frame.set(HUGE[below(HUGE.length)]?.subarray(0, frame.length - at) ?? [], at);
      return { bytes: frame, whole: true };
    case 5:
      return { bytes: Buffer.alloc(1 + below(5_000), 0x91), whole: true };
    case 6: {
      if (below(10) !== 0) return { bytes: frame, whole: true };
      const message = encodeMessage([Buffer.alloc(0), frame]);
      for (let n = 0; n < 4; n++) message[below(12)] = below(256);
      return { bytes: message, whole: false };
    }
    case 7:
    case 8:
      return { bytes: withHostileTexts(frame, below), whole: true };
    default:
      frame[at] = (frame[at] ?? 0) ^ (1 << below(8));
      return { bytes: frame, whole: true };
  }
}

/** Bytes in texts that stores, logs and terminals cannot take unchanged. */
const HOSTILE_BYTES = ['00', 'eda0bd', 'f09f9882', '1b5b324a', 'e280ae', '0d0a', 'fffe', '7f'].map(
  (hex) => Buffer.from(hex, 'hex'),
);

/**
 * The same frame with some of its short texts filled with hostile bytes: it stays msgpack, so it
 * reaches the code that reads its fields.
 */
function withHostileTexts(frame: Buffer, below: (limit: number) => number): Buffer {
  for (let from = below(frame.length), left = 1 + below(3); left > 0; left--) {
    // The head of a text of up to 31 bytes (msgpack fixstr); in packed bytes it may be another.
    const at = frame.findIndex((byte, index) => index >= from && byte > 0xa0 && byte <= 0xbf);
    if (at < 0) return frame;
    const end = Math.min(frame.length, at + 1 + ((frame[at] ?? 0) & 0x1f));
    // Some texts are names of fields: leave most of these as they are, they come first.
    if (below(4) !== 0) frame.fill(HOSTILE_BYTES[below(HOSTILE_BYTES.length)] ?? 0, at + 1, end);
    from = end + below(40);
  }
  return frame;
}

const HUGE = ['dfffffffff', 'ddffffffff', 'dbffffffff', 'c6ffffffff', 'c9ffffffff01', 'deffff'].map(
  (hex) => Buffer.from(hex, 'hex'),
);

/** xorshift32: the same frames for the same seed. */
export function randomFrom(seed: number): () => number {
  let state = seed >>> 0 || 1;
  return () => {
    state ^= state << 13;
    state >>>= 0;
    state ^= state >>> 17;
    state ^= state << 5;
    state >>>= 0;
    return state / 0x1_0000_0000;
  };
}
