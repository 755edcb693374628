import type { MinionPart } from '@brine/api/fleet';
import { Alert, Button, Group, Stack, Text } from '@mantine/core';
import { notifications } from '@mantine/notifications';
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { minionPartQuery, type PartName, refreshPart, revealPillar } from '../../api/minions.ts';
import { meQuery } from '../../api/session.ts';
import { useTopic } from '../../live/use-live.ts';
import { FilterText } from '../../parts/filter-text.tsx';
import { NotEnabled } from '../../parts/not-enabled.tsx';
import { PageLink } from '../../parts/page-link.tsx';
import { Empty, Panel, Sourced } from '../../parts/panel.tsx';
import { ValueTable } from '../../parts/value-table.tsx';
import { When } from '../../parts/when.tsx';
import { isEnabled } from '../../state/clients.ts';
import { randomName } from '../../state/random-name.ts';
import { shellWord } from '../../state/shell-word.ts';

/** What has each part sent. */
const COMMANDS: Readonly<Record<PartName, string>> = {
  grains: 'saltutil.refresh_grains',
  pillar: 'saltutil.refresh_pillar',
  mine: 'mine.update',
  schedule: 'schedule.list',
  beacons: 'beacons.list',
};

interface PartProps {
  readonly id: string;
  readonly part: PartName;
  readonly title: string;
  readonly word: string;
  readonly onWord: (word: string) => void;
}

/** A part of a minion, as the master keeps it. */
export function MinionPartPanel({ id, part, title, word, onWord }: PartProps) {
  const kept = useQuery(minionPartQuery(id, part));
  const [revealed, setRevealed] = useState<MinionPart>();
  const shown = revealed ?? kept.data;
  const isEmpty = shown === undefined || shown.data === null || isBlank(shown.data);
  return (
    <Panel title={title} actions={<Refresh id={id} part={part} />}>
      <Sourced source={kept}>
        <Stack gap="xs">
          <Group justify="space-between" align="end">
            <FilterText
              w={240}
              maxLength={200}
              label={`Search in ${part}`}
              value={word}
              onChange={onWord}
            />
            <Text size="sm" c="dimmed">
              Stored <When time={shown?.updated} />
              {shown?.jid !== null && shown?.jid !== undefined && (
                <>
                  {' by '}
                  <PageLink path={`/jobs/${encodeURIComponent(shown.jid)}`}>its job</PageLink>
                </>
              )}
            </Text>
          </Group>
          {part === 'pillar' && !isEmpty && (
            <Reveal id={id} isRevealed={revealed !== undefined} onReveal={setRevealed} />
          )}
          {isEmpty ? (
            <Empty command={`salt -L ${shellWord(id)} ${COMMANDS[part]}`}>
              Nothing is known of this part. It comes here with a refresh, or a command:
            </Empty>
          ) : (
            <ValueTable label={title} value={shown.data} word={word} />
          )}
        </Stack>
      </Sourced>
    </Panel>
  );
}

function isBlank(data: unknown): boolean {
  return typeof data === 'object' && data !== null && Object.keys(data).length === 0;
}

interface RevealProps {
  readonly id: string;
  readonly isRevealed: boolean;
  readonly onReveal: (part: MinionPart | undefined) => void;
}

/** Shows the values of a pillar, which is on record. */
function Reveal({ id, isRevealed, onReveal }: RevealProps) {
  const [trouble, setTrouble] = useState<string>();
  const reveal = async (): Promise<void> => {
    setTrouble(undefined);
    try {
      onReveal(await revealPillar(id));
    } catch (error) {
      setTrouble(textOf(error));
    }
  };
  return (
    <>
      {trouble !== undefined && (
        <Alert color="red" role="alert" p="xs">
          {trouble}
        </Alert>
      )}
      <Group gap="sm">
        <Button
          size="compact-sm"
          variant="default"
          onClick={() => (isRevealed ? onReveal(undefined) : void reveal())}
        >
          {isRevealed ? 'Mask the values' : 'Reveal the values'}
        </Button>
        <Text size="sm" c="dimmed">
          {isRevealed
            ? 'The values were revealed; your name and the time are on record.'
            : 'Each reveal is on record, with your name: salt-run audit.list kind=read'}
        </Text>
      </Group>
    </>
  );
}

/** Has the minion send it again. */
function Refresh({ id, part }: Pick<PartProps, 'id' | 'part'>) {
  const queries = useQueryClient();
  const [jid, setJid] = useState<string>();
  const [isBusy, setBusy] = useState(false);
  // The same for each try until one is answered.
  const [intent, setIntent] = useState(randomName);
  // The answer of the minion comes with the job; grains and pillars are stored a little later.
  useTopic(jid === undefined ? undefined : `job:${jid}`, (message) => {
    if (message.event !== 'returns' && message.event !== 'job') return;
    void queries.invalidateQueries({ queryKey: minionPartQuery(id, part).queryKey });
  });
  const me = useQuery(meQuery);
  const refresh = async (): Promise<void> => {
    setBusy(true);
    try {
      setJid((await refreshPart(id, part, intent)).jid);
      setIntent(randomName());
    } catch (error) {
      notifications.show({
        color: 'red',
        title: 'It is not refreshed',
        message: textOf(error),
        autoClose: false,
      });
    }
    setBusy(false);
  };
  return (
    <Group gap="sm">
      {jid !== undefined && (
        <PageLink path={`/jobs/${encodeURIComponent(jid)}`}>Asked by a job</PageLink>
      )}
      {me.data !== undefined && isEnabled(me.data, 'job') && (
        <Button size="compact-sm" variant="default" loading={isBusy} onClick={() => void refresh()}>
          Refresh
        </Button>
      )}
      <NotEnabled act="job" />
    </Group>
  );
}

function textOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
