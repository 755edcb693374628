import { describe, expect, it } from 'vitest';
import { surviveHostile, WRONG } from '../../test/hostile.ts';
import { WireError } from '../errors.ts';
import { unpack } from '../msgpack/decode.ts';
import { pack } from '../msgpack/encode.ts';
import type { SaltMap, SaltValue } from '../value.ts';
import { mapOf, SaltFloat } from '../value.ts';
import * as file from './file.ts';
import * as mine from './mine.ts';
import * as event from './minion-event.ts';
import * as pillar from './pillar.ts';
import * as syndic from './syndic-return.ts';
import * as token from './token.ts';

describe('loads', () => {
  it('a mine question by list or comma is answered by function', () => {
    const ask = (fun: SaltValue) => mine.parseMineGet(mapOf({ id: 'a', tgt: '*', fun }));
    expect(ask('f')).toMatchObject({ fun: ['f'], byFunction: false, tgtType: 'glob' });
    expect(ask('f, g')).toMatchObject({ fun: ['f', 'g'], byFunction: true });
    expect(ask(['f'])).toMatchObject({ fun: ['f'], byFunction: true });
    const old = mapOf({ id: 'a', tgt: '*', fun: 'f', expr_form: 'grain' });
    expect(mine.parseMineGet(old).tgtType).toBe('grain');
  });

  it('a mine value is unwrapped only where both marks are there', () => {
    const entry = mapOf({
      __data__: 1,
      __saltmine_acl__: 1,
      allow_tgt: 'web*',
      allow_tgt_type: 'glob',
    });
    expect(mine.parseMineEntry(entry)).toEqual({
      value: 1,
      allowTgt: 'web*',
      allowTgtType: 'glob',
    });
    for (const plain of [1, mapOf({ __data__: 1 }), mapOf({ __saltmine_acl__: 1 })]) {
      expect(mine.parseMineEntry(plain)).toEqual({ value: plain });
    }
    for (const wrong of WRONG) {
      expect(mine.parseMineEntry(new Map(entry).set('allow_tgt', wrong)).value).toBe(1);
    }
  });

  it('an old syndic puts one job at the top', () => {
    const job = mapOf({ id: 's', jid: 'j', fun: 'f', return: mapOf({ m: mapOf({ return: 1 }) }) });
    expect(syndic.parseSyndicReturn(job)).toHaveLength(1);
    surviveHostile(syndic.parseSyndicReturn, job);
  });

  it('a token has a shape, and its times stay floats', () => {
    const made = { token: 'ab'.repeat(32), start: 1, expire: 2.5, name: 'bob', eauth: 'pam' };
    expect(token.parseToken(token.buildToken(made))).toEqual(made);
    expect(token.buildToken(made).get('start')).toEqual(new SaltFloat(1));
    surviveHostile(token.parseToken, token.buildToken({ ...made, groups: ['a'], authList: [] }));
    expect(token.parseGetToken(mapOf({ token: made.token }))).toBe(made.token);
    for (const bad of [
      '',
      '../../etc/passwd',
      `${made.token}/`,
      'A'.repeat(64),
      `${made.token}\n`,
    ]) {
      expect(() => token.parseGetToken(mapOf({ token: bad }))).toThrow(WireError);
    }
    const wanted = mapOf({ cmd: 'mk_token', eauth: 'pam', username: 'bob', password: 'x' });
    expect(token.parseMakeToken(wanted)).toMatchObject({ eauth: 'pam', username: 'bob' });
    expect(token.parseMakeToken(wanted).credentials.has('cmd')).toBe(false);
    surviveHostile(token.parseMakeToken, wanted);
  });

  it('a private reply is read as it is written, and refused otherwise', () => {
    const key = Buffer.from([0xff, 1]);
    const nonce = '0'.repeat(32);
    const data = pillar.buildPrivateData({ key, pillar: new Map(), nonce });
    expect(pillar.parsePrivateData(data)).toEqual({ key, pillar: new Map(), nonce });
    const signed = pillar.buildSignedPrivate(data, key);
    expect(pillar.parseSignedPrivate(signed)).toEqual({ data, sig: key });
    const reply = pillar.buildPrivateReply(key, Buffer.from([0xfe]));
    expect(pillar.parsePrivateReply(reply)).toEqual({ key, pillar: Buffer.from([0xfe]) });
    surviveHostile((map) => pillar.parsePrivateData(pack(map)), unpack(data) as SaltMap);
    surviveHostile((map) => pillar.parseSignedPrivate(pack(map)), unpack(signed) as SaltMap);
    surviveHostile((map) => pillar.parsePrivateReply(pack(map)), unpack(reply) as SaltMap);
  });

  it('a piece of a file is read as it is written', () => {
    const piece = { data: Buffer.from([0xff]), dest: 'a', gzip: 5 };
    expect(file.parseFilePiece(file.buildFilePiece(piece))).toEqual(piece);
    surviveHostile(file.parseFilePiece, file.buildFilePiece(piece));
    expect(file.parseFileList(mapOf({ prefix: '//a/b/' })).prefix).toBe('a/b');
  });

  it('items of an event list that are no events fire nothing', () => {
    const list = event.parseMinionEvent(
      mapOf({ id: 'a', events: [1, new Map(), mapOf({ tag: 1 }), mapOf({ tag: 't', data: 2 })] }),
    );
    expect(list).toEqual({ kind: 'list', id: 'a', events: [{ tag: 't', data: 2 }], unfit: 0 });
  });
});
