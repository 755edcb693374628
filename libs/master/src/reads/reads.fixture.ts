import { type MemoryMaster } from '@brine/testing';
import { isMap, mapOf, type SaltMap, type SaltValue } from '@brine/wire';
import { runClearCommand } from '../clear/commands.ts';

const request = { id: 'r1', body: Buffer.alloc(0), gatewayHost: 'host1', peer: '192.0.2.7' };

/** Options of a master whose users log in with `p` and have these rights; `root` has a key. */
export function readersOf(acl: Readonly<Record<string, SaltValue[]>>) {
  return {
    userKeys: { root: 'root-key' },
    passwords: Object.fromEntries(Object.keys(acl).map((name) => [name, 'p'])),
    access: {
      externalAuth: { file: acl },
      publisherAcl: {},
      sudoAcl: false,
      permissiveAcl: false,
      keepAclInToken: false,
      tokenExpire: 100,
      tokenExpireUserOverride: false,
      hashType: 'sha256',
    },
  };
}

/** What a master answers to the read of a user. */
export async function readAs(
  { ports }: Pick<MemoryMaster, 'ports'>,
  user: string,
  read: string,
  args: Readonly<Record<string, SaltValue>>,
): Promise<SaltMap> {
  const who =
    user === 'root' ? { user, key: 'root-key' } : { eauth: 'file', username: user, password: 'p' };
  const sent = mapOf({ cmd: 'brine_read', read, args: mapOf(args), ...who });
  const { value } = await runClearCommand(ports, request, sent);
  return isMap(value) ? value : mapOf({});
}
