import { expect, test } from 'vitest';
import { checkPorts } from './reach.ts';

const USER = { name: 'salt', uid: 4711, gid: 4711, home: '', shell: '', isOther: true };

test('a port of root is refused where another user serves', () => {
  expect(() => checkPorts(USER, [4505, 506], 1024)).toThrow(
    'port 506 is for root alone, and user is salt',
  );
  expect(() => checkPorts(USER, [4505, 4506, 0], 1024)).not.toThrow();
  expect(() => checkPorts({ ...USER, uid: 0 }, [506], 1024)).not.toThrow();
});
