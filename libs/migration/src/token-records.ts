import type { StockToken } from '@brine/cachedir';
import type { TokenRecord } from '@brine/master';
import { listOf, mapOf, SaltFloat, type SaltMap, type SaltValue, textOf } from '@brine/wire';

/** A stock master's token in Brine's form; undefined if it names no user. */
export function tokenRecord({ data, expire }: StockToken): TokenRecord | undefined {
  const name = textOf(data, 'name');
  const eauth = textOf(data, 'eauth');
  if (name === undefined || eauth === undefined) return undefined;
  const groups = listOf(data, 'groups')?.filter((one) => typeof one === 'string');
  const authList = data.get('auth_list');
  return {
    start: numberOf(data.get('start')) ?? expire,
    expire,
    name,
    eauth,
    ...(groups === undefined ? {} : { groups }),
    ...(authList === undefined || authList === null ? {} : { authList }),
  };
}

/** Brine's token in a stock master's form. */
export function tokenFile(token: string, record: TokenRecord): StockToken {
  const { start, expire, name, eauth, groups, authList } = record;
  const data: SaltMap = mapOf({
    start: new SaltFloat(start),
    expire: new SaltFloat(expire),
    name,
    eauth,
    groups: groups === undefined ? undefined : [...groups],
    auth_list: authList,
    token,
  });
  return { token, data, expire };
}

function numberOf(value: SaltValue | undefined): number | undefined {
  if (value instanceof SaltFloat) return value.value;
  return typeof value === 'number' ? value : undefined;
}
