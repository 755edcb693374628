import { expect, test } from 'vitest';
import { Pam } from './pam.ts';

test('PAM is not asked with a longer password than it takes', async () => {
  // A program that lets every user in.
  const pam = new Pam({ service: 'login', program: 'true' });
  const check = (password: string) =>
    pam.check({ username: 'anne', password }, AbortSignal.timeout(60_000));
  expect(await check('a'.repeat(511))).toMatchObject({ name: 'anne' });
  expect(await check('a'.repeat(512))).toBeUndefined();
  expect(await check('é'.repeat(256))).toBeUndefined();
});
