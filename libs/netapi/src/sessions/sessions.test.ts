import { describe, expect, test } from 'vitest';
import { MemoryBucket } from '../../test/api-scene.ts';
import { isSessionId, newSessionId, openSession, sealSession, storedName } from './session-box.ts';
import { type Session, Sessions } from './sessions.ts';

const SESSION: Session = {
  token: 'abc123',
  user: 'anne',
  eauth: 'pam',
  start: 1_000,
  expire: 2_000,
};

/** Sessions at 1,500 s. */
function scene() {
  const clock = { nowMs: 1_500_000 };
  const bucket = new MemoryBucket();
  return { clock, bucket, sessions: new Sessions(bucket, () => clock.nowMs) };
}

describe('a session', () => {
  test('is found by its id until it expires', async () => {
    const { clock, sessions, bucket } = scene();
    const id = await sessions.open(SESSION);
    expect(await sessions.find(id)).toEqual({ id, session: SESSION });
    expect([...bucket.livesMs.values()]).toEqual([500_000]);
    clock.nowMs = 2_000_000;
    expect(await sessions.find(id)).toBeUndefined();
  });

  test('ends with its log-out, and no other does', async () => {
    const { sessions } = scene();
    const [one, other] = [await sessions.open(SESSION), await sessions.open(SESSION)];
    await sessions.close(one);
    expect(await sessions.find(one)).toBeUndefined();
    expect(await sessions.find(other)).toBeDefined();
  });

  test('is found by no forged id', async () => {
    const { sessions } = scene();
    const id = await sessions.open(SESSION);
    const forged = [
      undefined,
      '',
      newSessionId(),
      id.toUpperCase(),
      `${id}0`,
      id.slice(1),
      ` ${id}`,
      `${id}\n`,
      storedName(id),
      '../../x',
      '*',
      '>',
      '__proto__',
    ];
    for (const text of forged) expect(await sessions.find(text)).toBeUndefined();
  });

  test('that has expired already lives for a moment and is not found', async () => {
    const { bucket, sessions } = scene();
    const id = await sessions.open({ ...SESSION, expire: 1_000 });
    expect([...bucket.livesMs.values()]).toEqual([1_000]);
    expect(await sessions.find(id)).toBeUndefined();
  });
});

describe('the store', () => {
  test('has neither ids, nor tokens, nor names', async () => {
    const { bucket, sessions } = scene();
    const id = await sessions.open({ ...SESSION, token: 'deadbeef', user: 'somebody' });
    const [[name, value] = ['', new Uint8Array()]] = bucket.values;
    const stored = `${name} ${Buffer.from(value).toString('latin1')}`;
    for (const secret of [id, 'deadbeef', 'somebody', 'pam']) expect(stored).not.toContain(secret);
  });

  test('opens nothing that was sealed with another id, or changed', () => {
    const id = newSessionId();
    const sealed = sealSession(id, SESSION);
    expect(openSession(id, sealed)).toEqual(SESSION);
    expect(() => openSession(newSessionId(), sealed)).toThrow();
    for (let at = 0; at < sealed.length; at += 1) {
      const changed = Buffer.from(sealed);
      changed[at] = (changed[at] ?? 0) ^ 1;
      expect(() => openSession(id, changed)).toThrow();
    }
    for (let length = 0; length < sealed.length; length += 7) {
      expect(() => openSession(id, sealed.subarray(0, length))).toThrow();
    }
  });

  test('seals equal sessions differently', () => {
    const id = newSessionId();
    expect(sealSession(id, SESSION).equals(sealSession(id, SESSION))).toBe(false);
  });
});

test('ids are 40 hexadecimal digits, and never repeat', () => {
  const ids = Array.from({ length: 1_000 }, () => newSessionId());
  expect(new Set(ids).size).toBe(1_000);
  expect(ids.every(isSessionId)).toBe(true);
  expect(isSessionId(`${ids[0]}\n`)).toBe(false);
});
