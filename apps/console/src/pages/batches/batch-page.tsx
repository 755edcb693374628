import type { BatchDetail } from '@brine/api/runs';
import { Alert, Button, Checkbox, Group, Modal, Stack, Text, Title } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { getRouteApi, Link } from '@tanstack/react-router';
import { useState } from 'react';
import { isLost, pathOf } from '../../api/ask.ts';
import { actOnBatch, type BatchAct, batchQuery } from '../../api/batches.ts';
import { useTopic } from '../../live/use-live.ts';
import { CopyMenu } from '../../parts/copy-menu.tsx';
import { Given } from '../../parts/given.tsx';
import { NotEnabled } from '../../parts/not-enabled.tsx';
import { Panel, Sourced } from '../../parts/panel.tsx';
import { useRunners } from '../../parts/use-rights.ts';
import { When } from '../../parts/when.tsx';
import { shellLine } from '../../state/shell-word.ts';
import { BatchBar, BatchCounts, BatchState } from './batch-state.tsx';

const route = getRouteApi('/batches/$jid');

/** Where does it stand, can I stop it? */
export function BatchPage() {
  const { jid } = route.useParams();
  const queries = useQueryClient();
  const query = batchQuery(jid);
  const batch = useQuery(query);
  useTopic(batch.data?.ended === true ? undefined : `job:${jid}`, ({ event }) => {
    if (event === 'job' || event === 'reset') {
      void queries.invalidateQueries({ queryKey: query.queryKey });
    }
  });
  return (
    <Stack gap="sm">
      <Group justify="space-between">
        <Title order={1}>
          Batch <Given text={batch.data?.fun.join(', ') ?? jid} />
        </Title>
        <CopyMenu
          path={`/batches${pathOf(jid)}`}
          command={shellLine('salt-run', 'batch.status', jid)}
        />
      </Group>
      <Sourced source={batch}>{batch.data !== undefined && <Batch batch={batch.data} />}</Sourced>
    </Stack>
  );
}

function Batch({ batch }: { readonly batch: BatchDetail }) {
  const { jid, tgt, tgtType, user, size, created, lastProgress, minions, ended } = batch;
  return (
    <>
      <Group gap="md">
        <Text fw={600} role="status">
          <BatchState batch={batch} />
        </Text>
        <Text>
          <Given text={tgt.join(',')} /> ({tgtType})
        </Text>
        <Text>
          by <Given text={user} />, began <When time={created} />, last step{' '}
          <When time={lastProgress} />
        </Text>
        <Link to="/jobs/$jid" params={{ jid }}>
          Its job
        </Link>
      </Group>
      <BatchBar batch={batch} />
      <BatchCounts batch={batch} />
      <Text size="sm" c="dimmed">
        {size} at a time. The highest return code is {batch.retcode}.
      </Text>
      {!ended && <Acts batch={batch} />}
      {minions !== undefined && <Waves minions={minions} />}
      {minions === undefined && ended && (
        <Text size="sm" c="dimmed">
          It has ended. What its minions returned is in its job.
        </Text>
      )}
    </>
  );
}

const LISTS = [
  ['Running now', 'active'],
  ['Silent', 'silent'],
] as const;
const WAVE = [
  ['Began with the last step', 'dispatched'],
  ['Finished with it', 'finished'],
  ['Silent with it', 'silent'],
] as const;

function Waves({ minions }: { readonly minions: NonNullable<BatchDetail['minions']> }) {
  return (
    <Panel title="Minions">
      {LISTS.map(([title, name]) => (
        <Ids key={title} title={title} ids={minions[name]} />
      ))}
      {WAVE.map(([title, name]) => (
        <Ids key={title} title={title} ids={minions.wave[name]} />
      ))}
    </Panel>
  );
}

/** Ids that are drawn of a list. */
const DRAWN = 100;

function Ids({ title, ids }: { readonly title: string; readonly ids: readonly string[] }) {
  return (
    <Text size="sm">
      <strong>
        {title} ({ids.length}):
      </strong>{' '}
      {ids.slice(0, DRAWN).map((id, index) => (
        <span key={id}>
          {index > 0 && ', '}
          <Given text={id} max={80} />
        </span>
      ))}
      {ids.length > DRAWN && ` and ${ids.length - DRAWN} more`}
      {ids.length === 0 && '–'}
    </Text>
  );
}

/** Pause, resume, and stop after a question. */
function Acts({ batch: { jid, paused, active, pending } }: { readonly batch: BatchDetail }) {
  const queries = useQueryClient();
  const mayCall = useRunners();
  const [isAsked, question] = useDisclosure();
  const [kill, setKill] = useState(false);
  const act = useMutation({
    mutationFn: (what: BatchAct) => actOnBatch(jid, what, kill),
    onSettled: () => queries.invalidateQueries({ queryKey: batchQuery(jid).queryKey }),
  });
  const may = (what: BatchAct): boolean => mayCall(`batch.${what}`);
  const next = paused ? 'resume' : 'pause';
  return (
    <>
      <Group>
        {may(next) && (
          <Button variant="default" loading={act.isPending} onClick={() => act.mutate(next)}>
            {paused ? 'Resume' : 'Pause'}
          </Button>
        )}
        {may('stop') && (
          <Button color="red" variant="outline" onClick={question.open}>
            Stop…
          </Button>
        )}
        <NotEnabled act="callRunner" />
      </Group>
      {act.error !== null && (
        <Alert
          color="red"
          role="alert"
          title={isLost(act.error) ? 'No answer: it may have been done' : 'It was not done'}
        >
          {act.error.message}
        </Alert>
      )}
      <Modal opened={isAsked} onClose={question.close} title="Stop this batch?">
        <Stack>
          <Text>
            {pending} minions that have not begun will not begin. {active} run now, and continue
            unless you end their job too. A batch that was stopped can not be resumed.
          </Text>
          <Checkbox
            label={`Also end the job on the ${active} minions that run it`}
            checked={kill}
            onChange={({ currentTarget }) => setKill(currentTarget.checked)}
          />
          <Group>
            <Button
              color="red"
              onClick={() => {
                question.close();
                act.mutate('stop');
              }}
            >
              Stop it
            </Button>
            <Button variant="default" onClick={question.close}>
              Let it run
            </Button>
          </Group>
        </Stack>
      </Modal>
    </>
  );
}
