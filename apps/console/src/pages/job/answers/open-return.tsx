import { Anchor } from '@mantine/core';
import { Given } from '../../../parts/given.tsx';
import { useJobSearch } from '../use-job-search.ts';

/** A minion; shows what it returned. */
export function OpenReturn({ id }: { readonly id: string }) {
  const { change } = useJobSearch();
  return (
    <Anchor component="button" type="button" size="sm" onClick={() => change({ open: id })}>
      <Given text={id} />
    </Anchor>
  );
}
