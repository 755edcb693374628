import { Button } from '@mantine/core';

const NUMBER = new Intl.NumberFormat('en');

/** Shows what came since a list was drawn. */
export function FreshButton({
  fresh,
  show,
}: {
  readonly fresh: number;
  readonly show: () => void;
}) {
  if (fresh <= 0) return null;
  return (
    <Button size="compact-sm" onClick={show}>{`Show ${NUMBER.format(fresh)} new returns`}</Button>
  );
}
