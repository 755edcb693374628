import type { ReactorAct } from '@brine/api/runs';
import { Button, Group, Stack, Table, Textarea, TextInput } from '@mantine/core';
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { type SyntheticEvent, useState } from 'react';
import { actOnReactor, reactorQuery } from '../../api/reactor.ts';
import { Confirm } from '../../parts/confirm.tsx';
import { Given } from '../../parts/given.tsx';
import { Empty, Panel } from '../../parts/panel.tsx';
import { useRunners } from '../../parts/use-rights.ts';
import { readLines } from '../../state/lines.ts';

/** Which files react to which tags, and the switches of who may change them. */
export function EntriesPanel() {
  const queries = useQueryClient();
  const entries = useQuery(reactorQuery);
  const [intent, setIntent] = useState<ReactorAct>();
  const may = useRunners();
  const items = entries.data?.items ?? [];
  return (
    <Panel title="What reacts to which events" source={entries}>
      <Stack>
        {items.length === 0 ? (
          <Empty command="salt-run reactor.add 'site/*' reactors='/srv/reactor/site.sls'">
            {entries.data?.reason !== undefined && `${entries.data.reason}. `}
            Files that react to events come here. One is added by
          </Empty>
        ) : (
          <Table aria-label="Entries of the reactor">
            <Table.Thead>
              <Table.Tr>
                <Table.Th>Tags</Table.Th>
                <Table.Th>Files</Table.Th>
                {may('reactor.delete') && <Table.Th>Do</Table.Th>}
              </Table.Tr>
            </Table.Thead>
            <Table.Tbody>
              {items.map(({ event, reactors }, at) => (
                // Two entries may have the same tags.
                <Table.Tr key={`${event} ${at}`}>
                  <Table.Td>
                    <Given text={event} />
                  </Table.Td>
                  <Table.Td>
                    <Texts texts={reactors} />
                  </Table.Td>
                  {may('reactor.delete') && (
                    <Table.Td>
                      <Button
                        size="compact-xs"
                        variant="default"
                        aria-label={`Delete: ${event}`}
                        onClick={() => setIntent({ act: 'delete', event })}
                      >
                        Delete
                      </Button>
                    </Table.Td>
                  )}
                </Table.Tr>
              ))}
            </Table.Tbody>
          </Table>
        )}
        {may('reactor.add') && <NewEntry onIntent={setIntent} />}
      </Stack>
      {intent !== undefined && (
        <Confirm
          title={intent.act === 'add' ? 'Add this entry?' : 'Delete this entry?'}
          label={intent.act === 'add' ? 'Add' : 'Delete'}
          isDangerous={intent.act === 'delete'}
          act={() => actOnReactor(intent)}
          onDone={() => void queries.invalidateQueries({ queryKey: reactorQuery.queryKey })}
          onClose={() => setIntent(undefined)}
        >
          For all masters of the cluster, and for good: <Given text={intent.event} />
          {intent.act === 'add' && <Texts texts={intent.reactors} />}
        </Confirm>
      )}
    </Panel>
  );
}

function Texts({ texts }: { readonly texts: readonly string[] }) {
  return (
    <>
      {texts.map((text, at) => (
        <div key={`${text} ${at}`}>
          <Given text={text} />
        </div>
      ))}
    </>
  );
}

function NewEntry({ onIntent }: { readonly onIntent: (intent: ReactorAct) => void }) {
  const submit = (event: SyntheticEvent<HTMLFormElement>): void => {
    event.preventDefault();
    const form = new FormData(event.currentTarget);
    const [tags = ''] = readLines(form.get('tags'));
    onIntent({ act: 'add', event: tags, reactors: [...readLines(form.get('files'))] });
  };
  return (
    <form onSubmit={submit} aria-label="New entry">
      <Group align="end">
        <TextInput
          size="xs"
          name="tags"
          label="Tags"
          placeholder="site/*"
          maxLength={1_024}
          required
        />
        <Textarea
          size="xs"
          name="files"
          label="Files, one a line"
          placeholder="/srv/reactor/site.sls"
          autosize
          minRows={1}
          w={320}
          maw="100%"
          required
        />
        <Button size="xs" type="submit" variant="default">
          Add an entry
        </Button>
      </Group>
    </form>
  );
}
