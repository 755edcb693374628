import { useQuery } from '@tanstack/react-query';
import { meQuery } from '../api/session.ts';
import { mayCall } from '../state/rights.ts';

/** What the caller may do with a runner, as far as is known: nothing, until it is. */
export function useRunners(): (fun: string) => boolean {
  const { data } = useQuery(meQuery);
  return (fun) => data !== undefined && mayCall(data, 'runner', fun);
}
