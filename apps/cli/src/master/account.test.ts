import { userInfo } from 'node:os';
import { expect, test } from 'vitest';
import { accountOf } from './account.ts';

const { uid, gid, username } = userInfo();

test('the user of this process needs no change, by name and by number', async () => {
  for (const user of [username, String(uid)]) {
    expect(await accountOf(user)).toMatchObject({ uid, gid, isOther: false });
  }
});

test('root alone can become the user that the file names', async () => {
  if (uid === 0) {
    expect(await accountOf('nobody')).toMatchObject({ name: 'nobody', isOther: true });
    return;
  }
  await expect(accountOf('nobody')).rejects.toMatchObject({
    exitCode: 1,
    message: expect.stringContaining('only root can change to nobody'),
  });
});
