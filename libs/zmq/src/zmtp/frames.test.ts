import { describe, expect, it } from 'vitest';
import {
  encodeMessage,
  encodeRequest,
  handshake,
  readReady,
  ZmtpError,
  ZmtpReader,
} from './frames.ts';

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

  it('refuses bytes that are no ZMTP, and a message of frames without end', () => {
    expect(() => reading().reader.take(Buffer.alloc(GREETING_BYTES))).toThrow(ZmtpError);
    expect(() => reading().reader.take(Buffer.from('GET / HTTP/1.1'.padEnd(80)))).toThrow(
      ZmtpError,
    );
    const { reader } = reading();
    reader.take(handshake('REQ', '').subarray(0, GREETING_BYTES));
    const more = Buffer.from([1, 0]);
    expect(() => reader.take(Buffer.concat(Array.from({ length: 65 }, () => more)))).toThrow(
      /too many frames/,
    );
  });

  it('refuses a message that is longer than allowed before it has come', () => {
    const { reader } = reading(100);
    reader.take(handshake('REQ', '').subarray(0, GREETING_BYTES));
    const message = encodeMessage([Buffer.alloc(60), Buffer.alloc(60)]);
    expect(() => reader.take(message.subarray(0, 70))).toThrow(ZmtpError);
  });
});

describe('readReady', () => {
  const ready = (body: Buffer) => readReady(body);
  const command = handshake('DEALER', 'me').subarray(GREETING_BYTES + 2);

  it('says what the other side is', () => {
    expect(ready(command)).toEqual({ socketType: 'DEALER', identity: Buffer.from('me') });
  });

  it('takes no command that is cut, nor another one', () => {
    for (let length = 7; length < command.length; length += 1) {
      const found = ready(command.subarray(0, length));
      expect(found === undefined || found.identity.length === 0).toBe(true);
    }
    expect(ready(Buffer.from('\x04PING'))).toBeUndefined();
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
