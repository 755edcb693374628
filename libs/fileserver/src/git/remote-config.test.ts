import { expect, test } from 'vitest';
import { readRemotes } from './remote-config.ts';

const GLOBALS = {
  base: 'main',
  fallback: '',
  mountpoint: '',
  root: '',
  saltenv: [],
  passphrase: '',
  saltenv_whitelist: [],
  saltenv_blacklist: [],
  ref_types: ['branch'],
  refspecs: [],
  update_interval: 60,
  depth: 0,
  proxy: '',
  user: '',
  password: '',
  privkey: '',
  disable_saltenv_mapping: false,
  ssl_verify: true,
  insecure_auth: false,
};

function switches(name: string, value: unknown) {
  const [remote] = readRemotes([{ 'https://git.lab/x': [{ [name]: value }] }], GLOBALS);
  return {
    ssl_verify: remote?.sslVerify,
    insecure_auth: remote?.insecureAuth,
    disable_saltenv_mapping: remote?.disableSaltenvMapping,
  };
}

const EMPTY = [false, 0, '', [], {}];
const FULL = [true, 1, 'yes', [0], { a: 1 }, 'maybe'];
const NO = ['no', 'False', 'off', '0'];

// As salt/utils/gitfs.py enforce_types: `bool` of the value.
test.each(['ssl_verify', 'disable_saltenv_mapping'])(
  '%s of a remote counts as in Python',
  (name) => {
    for (const value of EMPTY)
      expect([value, switches(name, value)]).toMatchObject([value, { [name]: false }]);
    for (const value of [...FULL, ...NO]) {
      expect([value, switches(name, value)]).toMatchObject([value, { [name]: true }]);
    }
  },
);

test('insecure_auth of a remote is not opened by a text for no', () => {
  for (const value of [...EMPTY, ...NO])
    expect(switches('insecure_auth', value).insecure_auth).toBe(false);
  for (const value of FULL) expect(switches('insecure_auth', value).insecure_auth).toBe(true);
});
