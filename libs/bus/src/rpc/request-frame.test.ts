import fc from 'fast-check';
import { expect, test } from 'vitest';
import {
  packReply,
  packReplyElsewhere,
  packRequest,
  readMessage,
  readReplyAddress,
  unpackRequest,
} from './request-frame.ts';

const head = { id: 'r1', host: 'gw.example', deadlineMs: 1_763_658_000_000, peer: '10.0.0.1:4' };

test('a request comes back as it was packed', () => {
  fc.assert(
    fc.property(fc.uint8Array(), fc.string(), (body, id) => {
      const unpacked = unpackRequest(packRequest({ ...head, id }, body));
      expect(unpacked?.head).toEqual({ ...head, id });
      expect(unpacked?.body).toEqual(Buffer.from(body));
    }),
  );
});

test('a request may state that its asker reads the store; one of 0.2.0 does not', () => {
  const of = (readsStore: unknown) =>
    unpackRequest(packRequest({ ...head, readsStore } as typeof head, Buffer.alloc(0)))?.head;
  expect(of(true)).toEqual({ ...head, readsStore: true });
  expect(of(undefined)).toEqual(head);
  expect(of('yes')).toBeUndefined();
});

test('a request that was cut within its head is none, at every place', () => {
  const packed = packRequest(head, Buffer.alloc(0));
  for (let length = 0; length < packed.length; length++) {
    expect(unpackRequest(packed.subarray(0, length))).toBeUndefined();
  }
});

test('no bytes make reading a request or a word throw', () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 64 }), (bytes) => {
      unpackRequest(bytes);
      readMessage(bytes);
    }),
  );
});

test('a reply comes back with its trace note and its body', () => {
  const body = Buffer.from([1, 2, 3]);
  expect(readMessage(packReply(body, '20261120'))).toEqual({
    kind: 'reply',
    trace: '20261120',
    body,
  });
  expect(readMessage(packReply(body))).toEqual({ kind: 'reply', body });
  expect(readMessage(packReplyElsewhere('rep.x', 'j'))).toEqual({
    kind: 'reply-elsewhere',
    trace: 'j',
    reference: 'rep.x',
  });
});

test.each([
  undefined,
  '',
  'brine.events.ret',
  '_INBOX.gw',
  '_INBOX.gw.g1',
  '_INBOX.gw.g1.2.3',
  '_INBOX.wk.g1.2',
  '_INBOX.gwx.g1.2',
  '_INBOX.gw.*.2',
  '_INBOX.gw..2',
  '$KV.brine_keys.a',
])('the reply subject %j is not a gateway’s', (subject) => {
  expect(readReplyAddress(subject)).toBeUndefined();
});

test('a gateway’s reply subject names the gateway and the try', () => {
  expect(readReplyAddress('_INBOX.gw.g1.a7')).toEqual({ gateway: 'g1', slot: 'a7' });
});
