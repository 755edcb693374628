import type { KeyAct, KeyActed, KeyShown } from '@brine/api/fleet';
import { Alert, Button, Group, List, Modal, Progress, Stack, Text } from '@mantine/core';
import { useState } from 'react';
import { ApiError } from '../../api/ask.ts';
import { actOnKeys } from '../../api/keys.ts';
import { Given } from '../../parts/given.tsx';
import { actedText, type KeyActName, keyRequests } from '../../state/fleet/key-acts.ts';
import { randomName } from '../../state/random-name.ts';

const NUMBER = new Intl.NumberFormat('en');
/** Ids that are named. */
const NAMED_MAX = 10;

const TEXTS: Readonly<Record<KeyActName, { readonly title: string; readonly does: string }>> = {
  accept: { title: 'Accept', does: 'They may log in, and get jobs, files and their pillar.' },
  reject: { title: 'Reject', does: 'They may not log in.' },
  delete: { title: 'Delete', does: 'They can not log in until a key of theirs is accepted again.' },
};

interface DialogProps {
  readonly act: KeyActName;
  /** Those that the act is for. */
  readonly keys: readonly KeyShown[];
  readonly onClose: () => void;
  readonly onDone: () => void;
}

/** An act on keys, as it goes. */
function useKeyAct({ act, keys, onDone }: Omit<DialogProps, 'onClose'>) {
  const [left, setLeft] = useState(() => keyRequests(act, keys).map(intended));
  const [results, setResults] = useState<KeyActed['results']>([]);
  const [isBusy, setBusy] = useState(false);
  const [trouble, setTrouble] = useState<string>();
  const run = async (): Promise<void> => {
    setBusy(true);
    setTrouble(undefined);
    const [rest, done] = [[...left], [...results]];
    try {
      for (const { request, name } of left) {
        done.push(...(await actOnKeys(request, name)).results);
        rest.shift();
        setResults([...done]);
      }
    } catch (error) {
      const now = error instanceof ApiError && error.code === 'changed' ? error.count : undefined;
      const [first] = rest;
      if (now !== undefined && first !== undefined) {
        rest.splice(0, 1, ...(now === 0 ? [] : [intended(expecting(first.request, now))]));
        setTrouble(changedText(now));
      } else setTrouble(error instanceof Error ? error.message : String(error));
    }
    setLeft(rest);
    setBusy(false);
    onDone();
  };
  const count = left.reduce((sum, { request }) => sum + request.expect.count, 0);
  return { count, results, isBusy, trouble, run };
}

/** Asks before an act on keys, and shows what it did. */
export function KeyActDialog({ act, keys, onClose, onDone }: DialogProps) {
  // Keys of the moment when it was asked for: what is chosen is empty after the act.
  const [named] = useState(keys);
  const { count, results, isBusy, trouble, run } = useKeyAct({ act, keys: named, onDone });
  const { title, does } = TEXTS[act];
  return (
    <Modal
      opened
      onClose={onClose}
      title={`${title} ${NUMBER.format(named.length)} ${named.length === 1 ? 'key' : 'keys'}`}
    >
      <Stack gap="sm">
        <Text size="sm">{does}</Text>
        <List size="sm">
          {named.slice(0, NAMED_MAX).map(({ id }) => (
            <List.Item key={id}>
              <Given text={id} />
            </List.Item>
          ))}
        </List>
        {named.length > NAMED_MAX && (
          <Text size="sm">{`and ${NUMBER.format(named.length - NAMED_MAX)} more`}</Text>
        )}
        {isBusy && (
          <Progress
            value={(100 * results.length) / Math.max(1, named.length)}
            aria-label="Keys done"
          />
        )}
        {results.length > 0 && <Alert role="status">{actedText(act, results)}</Alert>}
        {trouble !== undefined && (
          <Alert color="red" role="alert">
            {trouble}
          </Alert>
        )}
        <Group justify="end">
          <Button variant="default" onClick={onClose}>
            {count === 0 ? 'Close' : 'Cancel'}
          </Button>
          {count > 0 && (
            <Button
              loading={isBusy}
              {...(act === 'delete' ? { color: 'red' } : {})}
              onClick={() => void run()}
            >
              {`${title} ${NUMBER.format(count)}`}
            </Button>
          )}
        </Group>
      </Stack>
    </Modal>
  );
}

/** A request with a name of its own: it is done once, however often it is sent. */
function intended(request: KeyAct) {
  return { request, name: randomName() };
}

function expecting(request: KeyAct, count: number): KeyAct {
  return { ...request, expect: { count } };
}

function changedText(count: number): string {
  if (count === 0) return 'Nothing was done: none of these keys is for this act any more.';
  return `Nothing was done: ${NUMBER.format(count)} of these keys are for this act now. Continue?`;
}
