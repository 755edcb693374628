import type { KeyShown } from '@brine/api/fleet';
import { Button, Group, Stack, Text } from '@mantine/core';
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { keyQuery } from '../../api/keys.ts';
import { meQuery } from '../../api/session.ts';
import { NotEnabled } from '../../parts/not-enabled.tsx';
import { PageLink } from '../../parts/page-link.tsx';
import { Panel, Sourced } from '../../parts/panel.tsx';
import { actedOn, type KeyActName } from '../../state/fleet/key-acts.ts';
import { hasRight } from '../../state/rights.ts';
import { KeyActDialog } from '../keys/key-act-dialog.tsx';
import { actsOf } from '../keys/key-acts.tsx';
import { KeyDetail } from '../keys/key-drawer.tsx';

/** What there is of a minion whose key is not accepted: its key, and what one may do with it. */
export function MinionKey({ id }: { readonly id: string }) {
  const me = useQuery(meQuery).data;
  const maySee = me !== undefined && hasRight(me.rights, 'wheel', 'key.list_all');
  const key = useQuery(keyQuery(maySee ? id : undefined));
  return (
    <Panel title="Its key">
      <Stack gap="sm">
        <Text size="sm" c="dimmed">
          Its key is not accepted: it gets no jobs, and has no grains, pillar, mine, schedule and
          beacons here.{' '}
          <PageLink path="/jobs" search={{ minion: id }}>
            Jobs of before
          </PageLink>
        </Text>
        {maySee ? (
          <Sourced source={key}>
            {key.data === null && <Text>There is no key of this id any more.</Text>}
            {key.data !== null && key.data !== undefined && (
              <>
                <KeyDetail key={id} shown={key.data} />
                <Acts shown={key.data} />
              </>
            )}
          </Sourced>
        ) : (
          <Text size="sm">Keys are for who may call the wheel key.list_all.</Text>
        )}
      </Stack>
    </Panel>
  );
}

function Acts({ shown }: { readonly shown: KeyShown }) {
  const queries = useQueryClient();
  const me = useQuery(meQuery).data;
  const [act, setAct] = useState<KeyActName>();
  return (
    <Group gap="xs">
      {actsOf(me)
        .filter(([name]) => actedOn(name, [shown]).length > 0)
        .map(([name, title]) => (
          <Button
            key={name}
            size="compact-sm"
            {...(name === 'delete' ? { color: 'red' } : {})}
            onClick={() => setAct(name)}
          >
            {title}
          </Button>
        ))}
      <NotEnabled act="callWheel" />
      {act !== undefined && (
        <KeyActDialog
          act={act}
          keys={actedOn(act, [shown])}
          onClose={() => setAct(undefined)}
          onDone={() => {
            for (const name of ['keys', 'minion', 'minions']) {
              void queries.invalidateQueries({ queryKey: [name] });
            }
          }}
        />
      )}
    </Group>
  );
}
