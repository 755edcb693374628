import { describe, expect, it } from 'vitest';
import { encodeMessage, encodeRequest, handshake, ZmtpError, ZmtpReader } from './zmtp-frames.ts';

const GREETING_BYTES = 64;

function reading(maxBytes = 1_000_000) {
  const messages: string[][] = [];
  const commands: string[] = [];
  const reader = new ZmtpReader(
    {
      onMessage: (frames) => messages.push(frames.map((frame) => frame.toString('latin1'))),
      onCommand: (body) => commands.push(body.subarray(1, 6).toString('latin1')),
    },
    maxBytes,
  );
  return { reader, messages, commands };
}

describe('ZmtpReader', () => {
  const long = 'y'.repeat(70_000);
  const stream = Buffer.concat([
    handshake('REQ', 'me'),
    encodeMessage([Buffer.alloc(0), Buffer.from('x')]),
    encodeMessage([Buffer.from(long)]),
    encodeMessage([Buffer.from('topic'), Buffer.from('body')]),
    encodeRequest([Buffer.from('a'.repeat(200)), Buffer.from('b'.repeat(56))]),
  ]);
  const expected = [['', 'x'], [long], ['topic', 'body'], ['', 'a'.repeat(200) + 'b'.repeat(56)]];

  it.each([1, 7, 63, 1_000, 65_536, stream.length])(
    'reads the same from pieces of %i bytes',
    (size) => {
      const { reader, messages, commands } = reading();
      for (let at = 0; at < stream.length; at += size) {
        // As a socket: one buffer for all that is read.
        const piece = Buffer.from(stream.subarray(at, at + size));
        reader.take(piece);
        piece.fill(0);
      }
      expect(commands).toEqual(['READY']);
      expect(messages).toEqual(expected);
    },
  );

  it('refuses a message that is longer than allowed before it has come', () => {
    const { reader } = reading(100);
    reader.take(Buffer.alloc(GREETING_BYTES));
    const message = encodeMessage([Buffer.alloc(60), Buffer.alloc(60)]);
    expect(() => reader.take(message.subarray(0, 70))).toThrow(ZmtpError);
  });
});

describe('encodeRequest', () => {
  it.each([0, 1, 255, 256, 70_000])('is the message of a delimiter and %i bytes', (length) => {
    const body = Buffer.alloc(length, 7);
    const cut = Math.floor(length / 3);
    const parts = [body.subarray(0, cut), body.subarray(cut)];
    expect(encodeRequest(parts).equals(encodeMessage([Buffer.alloc(0), body]))).toBe(true);
  });
});
