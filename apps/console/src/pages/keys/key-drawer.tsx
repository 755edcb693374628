import type { KeyShown } from '@brine/api/fleet';
import { Alert, Anchor, Code, Drawer, Group, Stack, Text, TextInput, Title } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { useState } from 'react';
import { keyQuery } from '../../api/keys.ts';
import { Given } from '../../parts/given.tsx';
import { Sourced } from '../../parts/panel.tsx';
import { KeySign } from '../../parts/presence-sign.tsx';
import { When } from '../../parts/when.tsx';
import { comparedWith } from '../../state/fleet/key-acts.ts';
import { KeyActButtons } from './key-acts.tsx';

const WRAPPED = { whiteSpace: 'pre-wrap', wordBreak: 'break-all' } as const;

interface KeyDrawerProps {
  readonly id: string | undefined;
  readonly onClose: () => void;
}

/** The keys of one id, to compare with what the minion prints. */
export function KeyDrawer({ id, onClose }: KeyDrawerProps) {
  const key = useQuery(keyQuery(id));
  return (
    <Drawer
      opened={id !== undefined}
      onClose={onClose}
      position="right"
      size="lg"
      title={<Given text={id ?? ''} />}
    >
      {id !== undefined && (
        <Sourced source={key}>
          {key.data === null && <Text>There is no key of this id any more.</Text>}
          {key.data !== null && key.data !== undefined && <KeyDetail key={id} shown={key.data} />}
        </Sourced>
      )}
    </Drawer>
  );
}

/** A key with its fingerprints, and a field to compare them. */
export function KeyDetail({ shown }: { readonly shown: KeyShown }) {
  const { id, state, changed, fingerprints, denied } = shown;
  const [pasted, setPasted] = useState('');
  return (
    <Stack gap="sm">
      <Text component="div">
        <KeySign state={state} />, <When time={changed} />.{' '}
        {state === 'accepted' && (
          <Anchor component={Link} to={`/minions/${encodeURIComponent(id)}`}>
            The minion
          </Anchor>
        )}
      </Text>
      {fingerprints !== null && <Forms title="Its key" {...fingerprints} />}
      {denied.map((one) => (
        <Forms key={one.salt3008} title="! Denied: another key for this id" {...one} />
      ))}
      <TextInput
        label="Compare with"
        description="What salt-call --local key.finger prints on the minion"
        maxLength={200}
        value={pasted}
        onChange={({ currentTarget }) => setPasted(currentTarget.value)}
        autoFocus
        data-autofocus
      />
      <Compared whose={comparedWith(shown, pasted)} />
      <Group gap="xs">
        <KeyActButtons keys={[shown]} />
      </Group>
    </Stack>
  );
}

function Compared({ whose }: { readonly whose: ReturnType<typeof comparedWith> }) {
  if (whose === undefined) return null;
  if (whose === 'this') {
    return (
      <Alert color="teal" role="status">
        ● It is this key.
      </Alert>
    );
  }
  return (
    <Alert color="red" role="status">
      {whose === 'denied' ? '✖ It is a key that was denied.' : '✖ It is another key.'}
    </Alert>
  );
}

function Forms({
  title,
  salt3006,
  salt3008,
}: { readonly title: string } & NonNullable<KeyShown['fingerprints']>) {
  return (
    <Stack gap={4}>
      <Title order={2} size="h5">
        {title}
      </Title>
      <Text size="sm">Salt 3008, salt-key -F:</Text>
      <Code block style={WRAPPED}>
        {salt3008}
      </Code>
      <Text size="sm">Salt 3006, and salt-call --local key.finger:</Text>
      <Code block style={WRAPPED}>
        {salt3006}
      </Code>
    </Stack>
  );
}
