import type { Me } from '@brine/api';
import type { KeyShown } from '@brine/api/fleet';
import { Button, Group, Text } from '@mantine/core';
import { notifications } from '@mantine/notifications';
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import type { Query } from '../../api/ask.ts';
import { allKeys } from '../../api/keys.ts';
import { meQuery } from '../../api/session.ts';
import { NotEnabled } from '../../parts/not-enabled.tsx';
import { actedOn, type KeyActName } from '../../state/fleet/key-acts.ts';
import { mayCall } from '../../state/rights.ts';
import type { ChosenKeys } from './chosen-keys.ts';
import { KeyActDialog } from './key-act-dialog.tsx';

const NUMBER = new Intl.NumberFormat('en');
/** Keys that are chosen at once. */
const CHOSEN_MAX = 10_000;

const ACTS: readonly (readonly [KeyActName, string])[] = [
  ['accept', 'Accept'],
  ['reject', 'Reject'],
  ['delete', 'Delete'],
];

/** The acts that are drawn for a caller. */
export function actsOf(me: Me | undefined): typeof ACTS {
  return ACTS.filter(([name]) => me !== undefined && mayCall(me, 'wheel', `key.${name}_dict`));
}

interface KeyActsProps {
  readonly filter: Query;
  readonly total: number;
  readonly chosen: ChosenKeys;
}

/** What one may do with the chosen keys. */
export function KeyActs({ filter, total, chosen }: KeyActsProps) {
  const chooseAll = async (): Promise<void> => {
    try {
      chosen.add(await allKeys(filter, CHOSEN_MAX));
    } catch (error) {
      const message = error instanceof Error ? error.message : String(error);
      notifications.show({ color: 'red', message });
    }
  };
  return (
    <Group gap="xs">
      <Text size="sm" className="number">
        {`${NUMBER.format(total)} match, ${NUMBER.format(chosen.keys.length)} chosen`}
      </Text>
      {total > 0 && (
        <Button size="compact-sm" variant="default" onClick={() => void chooseAll()}>
          {`Choose all ${NUMBER.format(Math.min(total, CHOSEN_MAX))}`}
        </Button>
      )}
      {chosen.keys.length > 0 && (
        <Button size="compact-sm" variant="default" onClick={chosen.clear}>
          Choose none
        </Button>
      )}
      <KeyActButtons keys={chosen.keys} onDone={chosen.clear} />
      <NotEnabled act="callWheel" />
    </Group>
  );
}

interface ButtonsProps {
  readonly keys: readonly KeyShown[];
  /** After each try, when the keys may be others than they were. */
  readonly onDone?: () => void;
}

/** A button for each act that the user may do, with the number of keys that it is for. */
export function KeyActButtons({ keys, onDone }: ButtonsProps) {
  const queries = useQueryClient();
  const me = useQuery(meQuery).data;
  const [act, setAct] = useState<KeyActName>();
  return (
    <>
      {actsOf(me).map(([name, title]) => {
        const count = actedOn(name, keys).length;
        return (
          <Button
            key={name}
            size="compact-sm"
            {...(name === 'delete' ? { color: 'red' } : {})}
            disabled={count === 0}
            onClick={() => setAct(name)}
          >
            {`${title} ${NUMBER.format(count)}`}
          </Button>
        );
      })}
      {act !== undefined && (
        <KeyActDialog
          act={act}
          keys={actedOn(act, keys)}
          onClose={() => setAct(undefined)}
          onDone={() => {
            onDone?.();
            void queries.invalidateQueries({ queryKey: ['keys'] });
            void queries.invalidateQueries({ queryKey: ['minions'] });
          }}
        />
      )}
    </>
  );
}
