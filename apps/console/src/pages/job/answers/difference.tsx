import { Stack, Table, Text } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { jobReturnQuery } from '../../../api/job.ts';
import { Given, GivenLines, shown } from '../../../parts/given.tsx';
import { Sourced } from '../../../parts/panel.tsx';
import classes from './difference.module.css';
import { type DiffLine, diffLinesOf } from './line-diff.ts';
import { givenOf, returnText } from './return-text.ts';
import { OutcomeSign, Scrolled } from './return-view.tsx';
import { stateDifferences, type StateLine, stateRunOf } from './state-run.ts';

/** Longer texts are not compared by lines. */
const TEXT_MAX = 1_000_000;
/** How long a comparison may take, ms: the page stands still meanwhile. */
const COMPARE_MS = 500;
const STATES_MAX = 200;

interface DifferenceProps {
  readonly jid: string;
  /** The minion whose answer is the odd one. */
  readonly here: string;
  /** A minion of the largest group. */
  readonly there: string;
}

/** How the answer of a minion differs from that of most. */
export function Difference({ jid, here, there }: DifferenceProps) {
  const one = useQuery(jobReturnQuery(jid, here));
  const other = useQuery(jobReturnQuery(jid, there));
  return (
    <Sourced source={one}>
      <Sourced source={other}>
        <Compared
          here={givenOf(one.data?.load)}
          there={givenOf(other.data?.load)}
          names={{ here, there }}
        />
      </Sourced>
    </Sourced>
  );
}

interface ComparedProps {
  readonly here: unknown;
  readonly there: unknown;
  readonly names: { readonly here: string; readonly there: string };
}

function Compared({ here, there, names }: ComparedProps) {
  const [run, other] = [stateRunOf(here), stateRunOf(there)];
  if (run !== undefined && other !== undefined) {
    return <StatesCompared here={run} there={other} names={names} />;
  }
  return <TextsCompared here={returnText(here)} there={returnText(there)} names={names} />;
}

interface StatesComparedProps {
  readonly here: readonly StateLine[];
  readonly there: readonly StateLine[];
  readonly names: ComparedProps['names'];
}

function StatesCompared({ here, there, names }: StatesComparedProps) {
  const found = stateDifferences(here, there);
  if (found.length === 0) {
    return <Text size="sm">They differ in times and numbers alone.</Text>;
  }
  return (
    <Stack gap="xs">
      <Text size="sm">
        {found.length} of {here.length} states differ.
      </Text>
      <Table.ScrollContainer minWidth={500}>
        <Table aria-label="States that differ">
          <Table.Thead>
            <Table.Tr>
              <Table.Th>State</Table.Th>
              <Table.Th>
                <Given text={names.here} max={60} />
              </Table.Th>
              <Table.Th>
                <Given text={names.there} max={60} />
              </Table.Th>
            </Table.Tr>
          </Table.Thead>
          <Table.Tbody>
            {found.slice(0, STATES_MAX).map(({ name, here: one, there: other }) => (
              <Table.Tr key={(one ?? other)?.key ?? name}>
                <Table.Td>
                  <Given text={name} />
                </Table.Td>
                <Table.Td>
                  <Side line={one} />
                </Table.Td>
                <Table.Td>
                  <Side line={other} />
                </Table.Td>
              </Table.Tr>
            ))}
          </Table.Tbody>
        </Table>
      </Table.ScrollContainer>
      {found.length > STATES_MAX && (
        <Text size="sm">{found.length - STATES_MAX} more states differ.</Text>
      )}
    </Stack>
  );
}

function Side({ line }: { readonly line: StateLine | undefined }) {
  if (line === undefined) return <>– not there</>;
  return (
    <>
      <OutcomeSign outcome={line.outcome} />
      <GivenLines text={line.comment} />
      {line.changes !== '' && <GivenLines text={line.changes} />}
    </>
  );
}

interface TextsComparedProps {
  readonly here: string;
  readonly there: string;
  readonly names: ComparedProps['names'];
}

function TextsCompared({ here, there, names }: TextsComparedProps) {
  const lines = useQuery({
    queryKey: ['difference', here, there],
    queryFn: () => compare(here, there),
    gcTime: 0,
    staleTime: Infinity,
  });
  const label = `Difference of ${shown(names.here, 60)} to ${shown(names.there, 60)}`;
  return (
    <Sourced source={lines}>
      {lines.data === null ? (
        <Text size="sm">They differ too much to be compared here.</Text>
      ) : (
        <>
          <Text size="sm">
            − as <Given text={names.there} max={60} />, + as <Given text={names.here} max={60} />
          </Text>
          <Scrolled label={label}>
            {(lines.data ?? []).map((line, at) => (
              <Line key={at} line={line} />
            ))}
          </Scrolled>
        </>
      )}
    </Sourced>
  );
}

/** From the text of most to the odd one; null for what would take too long. */
async function compare(here: string, there: string): Promise<readonly DiffLine[] | null> {
  if (here.length + there.length > TEXT_MAX) return null;
  const { diffLines } = await import('diff');
  const parts = diffLines(there, here, { timeout: COMPARE_MS });
  return parts === undefined ? null : diffLinesOf(parts);
}

const LINE_MAX = 2_000;

function Line({ line }: { readonly line: DiffLine }) {
  if (line.is === 'gap') {
    return <div className={classes['gap']}>… {line.lines} lines that both have</div>;
  }
  const text = shown(line.text, LINE_MAX);
  if (line.is === 'same') return <div className={classes['line']}>{`  ${text}`}</div>;
  const Mark = line.is === 'new' ? 'ins' : 'del';
  return (
    <Mark className={`${classes['line']} ${classes[line.is]}`}>
      {`${line.is === 'new' ? '+' : '−'} ${text}`}
    </Mark>
  );
}
