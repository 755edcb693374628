import { Button, Group } from '@mantine/core';
import { notifications } from '@mantine/notifications';
import { useNavigate } from '@tanstack/react-router';
import { idsOf } from '../../api/minions.ts';
import { type FleetFilter, targetOf } from '../../state/fleet/fleet-search.ts';

const NUMBER = new Intl.NumberFormat('en');
/** Letters of a target in an address: servers take some 16,000 in all. */
const TARGET_MAX = 6_000;
const RUN: string = '/run';

interface RunOnProps {
  readonly filter: FleetFilter;
  /** Minions that match. */
  readonly total: number;
  readonly chosen: ReadonlySet<string>;
  readonly onClear: () => void;
}

/** Goes to a job for the chosen minions; without any, for all that match. */
export function RunOn({ filter, total, chosen, onClear }: RunOnProps) {
  const navigate = useNavigate();
  const run = (tgt: string, tgtType: string): void => {
    if (tgt.length > TARGET_MAX) tooMany();
    else void navigate({ to: RUN, search: { tgt, tgtType } as never });
  };
  const runOnAll = async (): Promise<void> => {
    const target = targetOf(filter);
    if (target !== undefined) {
      run(target.tgt, target.tgtType);
      return;
    }
    try {
      const ids = await idsOf(filter);
      if (ids === undefined) tooMany();
      else run(ids.join(','), 'list');
    } catch (error) {
      const message = error instanceof Error ? error.message : String(error);
      notifications.show({ color: 'red', message });
    }
  };
  if (chosen.size > 0) {
    return (
      <Group gap="xs">
        <Button size="compact-sm" onClick={() => run([...chosen].join(','), 'list')}>
          {`Run on these ${NUMBER.format(chosen.size)}`}
        </Button>
        <Button size="compact-sm" variant="default" onClick={onClear}>
          Choose none
        </Button>
      </Group>
    );
  }
  return (
    <Button
      size="compact-sm"
      variant="default"
      disabled={total === 0}
      onClick={() => void runOnAll()}
    >
      {`Run on all ${NUMBER.format(total)}`}
    </Button>
  );
}

function tooMany(): void {
  notifications.show({
    color: 'orange',
    title: 'These are too many for a list',
    message: 'Filter by the id, the OS or the version alone, or write a target on the page Run.',
  });
}
