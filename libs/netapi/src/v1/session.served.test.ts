// Log-ins of /v1: by a code, and what is known of them without one.
import { mapOf, type SaltMap, textOf } from '@brine/wire';
import { afterEach, describe, expect, test } from 'vitest';
import { tokenOf, usualAnswer } from '../../test/api-scene.ts';
import { closeScenes, served } from '../../test/served-scene.ts';

const CODE = 'c'.repeat(43);
const BY_PASSWORD = { username: 'alice', password: 'right', eauth: 'pam' };

/** Takes {@link CODE} once. */
function answering(): (load: SaltMap) => ReturnType<typeof usualAnswer> {
  let isTaken = false;
  return (load) => {
    const isCode = textOf(load, 'cmd') === 'mk_token' && load.has('code');
    if (!isCode) return usualAnswer(load);
    if (load.get('code') !== CODE || isTaken) return '';
    isTaken = true;
    return new Map(tokenOf('root', 'abc123')).set('eauth', 'local key');
  };
}

afterEach(closeScenes);

describe('a log-in by a code', () => {
  test('gives a session, once', async () => {
    const { scene, post } = await served({ answer: answering() });
    const begun = await post('/v1/session', { code: CODE }, {});
    expect(begun.status).toBe(201);
    expect(JSON.parse(begun.text)).toMatchObject({ principal: 'root', eauth: 'local key' });
    expect(begun.headers.get('set-cookie')).toMatch(/^session_id=[0-9a-f]{40}; .*HttpOnly/);
    const [load] = scene.master.loads;
    expect(load).toEqual(mapOf({ cmd: 'mk_token', code: CODE }));
    const again = await post('/v1/session', { code: CODE }, {});
    expect(JSON.parse(again.text)).toMatchObject({ status: 401, code: 'log-in-refused' });
  });

  test('is refused as a log-in by a password is, whatever is wrong', async () => {
    const { post } = await served({ answer: answering() });
    const wrong = [{ code: 'x' }, { code: 'd'.repeat(43) }, { ...BY_PASSWORD, password: 'no' }];
    const texts = new Set<string>();
    for (const body of wrong) {
      const refused = await post('/v1/session', body, {});
      expect(refused.status).toBe(401);
      expect(refused.headers.get('set-cookie')).toBeNull();
      texts.add(refused.text);
    }
    expect(texts.size).toBe(1);
  });

  test.each([
    ['both', { ...BY_PASSWORD, code: CODE }],
    ['more', { code: CODE, token_expire: 1 }],
    ['no text', { code: ['c'] }],
    ['too much', { code: 'c'.repeat(257) }],
    ['nothing', {}],
  ])('takes no body with %s, and shows none of it', async (_, body) => {
    const { scene, post } = await served({ answer: answering() });
    const refused = await post('/v1/session', body, {});
    expect(JSON.parse(refused.text)).toMatchObject({ status: 400, code: 'bad-request' });
    expect(refused.text).not.toContain('ccc');
    expect(scene.master.loads).toEqual([]);
  });

  test('is for the addresses of its user: api_acl', async () => {
    const rest = { api_acl: { users: { root: ['192.0.2.1'], '*': ['127.0.0.1'] } } };
    const { scene, post } = await served({ answer: answering(), rest });
    const refused = await post('/v1/session', { code: CODE }, {});
    expect(JSON.parse(refused.text)).toMatchObject({ status: 401, code: 'log-in-refused' });
    expect(refused.headers.get('set-cookie')).toBeNull();
    const ended = scene.master.loads.filter((load) => textOf(load, 'query') === 'del_token');
    expect(ended).toHaveLength(1);
    // The only session is that of the scene itself: that of the code was closed.
    const open = [...scene.bucket.values.values()].filter((value) => value.length > 0);
    expect(open).toHaveLength(1);
  });

  test('is not begun by a page of another origin', async () => {
    const { scene, post } = await served({ answer: answering() });
    const headers = { Origin: 'http://evil.example', 'Sec-Fetch-Site': 'cross-site' };
    const refused = await post('/v1/session', { code: CODE }, headers);
    expect(JSON.parse(refused.text)).toMatchObject({ status: 403, code: 'other-origin' });
    expect(scene.master.loads).toEqual([]);
  });

  test('is not begun by what is in an address', async () => {
    const { scene, ask } = await served({ answer: answering() });
    for (const path of [`/v1/session?code=${CODE}`, `/v1/log-ins?code=${CODE}`, `/v1/${CODE}`]) {
      const answer = await ask(path, { headers: {} });
      expect(answer.headers.get('set-cookie')).toBeNull();
    }
    expect(scene.master.loads).toEqual([]);
  });
});

describe('what one may log in with', () => {
  const externalAuth = { pam: { alice: ['.*'] }, file: { '^filename': '/etc/secret' } };

  test('is open to all, and names modules alone', async () => {
    const { ask } = await served({ externalAuth });
    const answer = await ask('/v1/log-ins');
    expect(JSON.parse(answer.text)).toEqual({ modules: ['pam', 'file'] });
    expect((await ask('/v1/log-ins', { headers: { 'X-Auth-Token': 'f'.repeat(40) } })).text).toBe(
      answer.text,
    );
  });

  test('has the log-in of who asks', async () => {
    const { ask, known } = await served({ externalAuth });
    const { session } = JSON.parse((await ask('/v1/log-ins', { headers: known })).text);
    expect(session).toMatchObject({ principal: 'alice', eauth: 'pam' });
    expect(session).toEqual(JSON.parse((await ask('/v1/session', { headers: known })).text));
  });
});
