import type { Resolved } from '@brine/api';
import { Alert, Button, Group, Text, TextInput } from '@mantine/core';
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { Link, useNavigate } from '@tanstack/react-router';
import { useRef, useState } from 'react';
import { ApiError, isLost } from '../../api/ask.ts';
import { jobQuery } from '../../api/job.ts';
import { sendRun } from '../../api/run.ts';
import { meQuery } from '../../api/session.ts';
import { useTopic } from '../../live/use-live.ts';
import { LedgerBar, LedgerNumbers } from '../../parts/bars/ledger-bar.tsx';
import { NotEnabled } from '../../parts/not-enabled.tsx';
import { Sourced } from '../../parts/panel.tsx';
import { type ClientAct, isEnabled } from '../../state/clients.ts';
import { randomName } from '../../state/random-name.ts';
import { asTest, isTest, takesTest, withoutTest } from '../../state/run/arguments-form.ts';
import type { RunCommand } from '../../state/run/run-command.ts';
import { requestOf } from '../../state/run/run-request.ts';
import type { Dry } from './use-run.ts';
import { minions } from './who.tsx';

/** For more minions than these, their number is typed before a command goes out. */
const TYPED_ABOVE = 100;

/** The minions that were counted. */
type Expected = Pick<Resolved, 'count' | 'digest'>;

interface SendProps {
  readonly command: RunCommand;
  /** Undefined while they are counted, and for what the master itself runs. */
  readonly expected: Expected | undefined;
  readonly dry: Dry | undefined;
  readonly onDry: (dry: Dry) => void;
}

/** Sends the command, to exactly the minions that were counted. */
export function Send({ command, expected, dry, onDry }: SendProps) {
  const { of } = command;
  const me = useQuery(meQuery);
  const sending = useSending();
  const open = useOpen(command);
  const asked = requestOf(command);
  if (asked.kind === 'problem') {
    return (
      <Text size="sm" c="dimmed" role="status">
        {asked.text}.
      </Text>
    );
  }
  const act = actOf(command);
  if (me.data !== undefined && !isEnabled(me.data, act)) return <NotEnabled act={act} />;
  if (of !== 'module') {
    return (
      <>
        <Group>
          <Button
            loading={sending.isBusy}
            onClick={() => void sending.send(command, undefined, open)}
          >
            Run it on the master
          </Button>
        </Group>
        <Refused error={sending.error} />
      </>
    );
  }
  return (
    <>
      <Buttons {...{ command, expected, onDry, sending, open }} />
      <Refused error={sending.error} />
      {sending.changed !== undefined && (
        <Changed {...sending.changed} isBusy={sending.isBusy} onRun={sending.again} />
      )}
      {dry !== undefined && (
        <DryRun
          dry={dry}
          isBusy={sending.isBusy}
          onRun={() => void sending.send(withoutDry(command), dry, open)}
        />
      )}
    </>
  );
}

/** What the site has to have enabled for a command. */
function actOf({ of, size }: RunCommand): ClientAct {
  if (of === 'module') return size === '' ? 'job' : 'batch';
  return of === 'runner' ? 'beginRunner' : 'beginWheel';
}

interface ButtonsProps extends Omit<SendProps, 'dry'> {
  readonly sending: ReturnType<typeof useSending>;
  readonly open: (jid: string) => void;
}

/** For states the run that changes nothing comes first. */
function Buttons({ command, expected, onDry, sending, open }: ButtonsProps) {
  const { fun, arg } = command;
  const canTest = takesTest(fun);
  const isDry = canTest && isTest(arg);
  const test = { ...command, arg: asTest(arg) };
  return (
    <Group align="end">
      {canTest && (
        <Button
          loading={sending.isBusy}
          disabled={expected === undefined || expected.count === 0}
          onClick={() => void sending.send(test, expected, (jid, sent) => onDry({ jid, ...sent }))}
        >
          {expected === undefined ? 'Dry run' : `Dry run on ${minions(expected.count)}`}
        </Button>
      )}
      {!isDry && (
        <Confirmed
          key={expected?.digest}
          count={expected?.count}
          label={(count) => `Run on ${count}`}
          isSecond={canTest}
          isBusy={sending.isBusy}
          onRun={() => void sending.send(withoutDry(command), expected, open)}
        />
      )}
    </Group>
  );
}

/** The command that does what its run with `test=True` shows. */
function withoutDry(command: RunCommand): RunCommand {
  const { fun, arg } = command;
  return takesTest(fun) ? { ...command, arg: withoutTest(arg) } : command;
}

/** Where one looks on after a command was sent. */
function useOpen({ of, size }: RunCommand) {
  const navigate = useNavigate();
  return (jid: string): void => {
    const to = of === 'module' ? (size === '' ? '/jobs/$jid' : '/batches/$jid') : '/runs/$jid';
    void navigate({ to, params: { jid } });
  };
}

interface ConfirmedProps {
  readonly count: number | undefined;
  readonly label: (minions: string) => string;
  readonly isBusy: boolean;
  readonly isSecond?: boolean;
  readonly onRun: () => void;
}

/** A button that acts on minions; of many of them one types the number first. */
function Confirmed({ count, label, isBusy, isSecond = false, onRun }: ConfirmedProps) {
  const [typed, setTyped] = useState('');
  const isMany = count !== undefined && count > TYPED_ABOVE;
  const isSure = !isMany || typed.trim() === String(count);
  return (
    <>
      {isMany && (
        <TextInput
          label={`Type ${count} to confirm`}
          value={typed}
          onChange={({ currentTarget }) => setTyped(currentTarget.value)}
          inputMode="numeric"
          autoComplete="off"
          w={170}
        />
      )}
      <Button
        variant={isSecond ? 'default' : 'filled'}
        loading={isBusy}
        disabled={count === undefined || count === 0 || !isSure}
        onClick={onRun}
      >
        {count === undefined ? 'Run' : label(minions(count))}
      </Button>
    </>
  );
}

interface ChangedProps {
  readonly from: number;
  readonly to: number;
  readonly isBusy: boolean;
  readonly onRun: () => void;
}

/** The target means other minions by now. */
function Changed({ from, to, isBusy, onRun }: ChangedProps) {
  return (
    <Alert color="orange" role="alert" title="Nothing was sent: the target has changed">
      <Text size="sm" mb="xs">
        {from === to
          ? `It still means ${minions(to)}, but not the same ones.`
          : `It meant ${minions(from)}, and means ${minions(to)} now.`}
      </Text>
      <Group align="end">
        <Confirmed
          key={to}
          count={to}
          label={(count) => `Run on these ${count}`}
          isBusy={isBusy}
          onRun={onRun}
        />
      </Group>
    </Alert>
  );
}

interface DryRunProps {
  readonly dry: Dry;
  readonly isBusy: boolean;
  readonly onRun: () => void;
}

/** What the run with `test=True` came to, and then the same without it. */
function DryRun({ dry, isBusy, onRun }: DryRunProps) {
  const queries = useQueryClient();
  const query = jobQuery(dry.jid);
  const job = useQuery(query);
  useTopic(`job:${dry.jid}`, ({ event }) => {
    if (event === 'job' || event === 'reset') {
      void queries.invalidateQueries({ queryKey: query.queryKey });
    }
  });
  const counts = job.data?.counts;
  return (
    <Alert color="teal" title="Dry run" role="region" aria-label="Dry run">
      <Sourced source={job}>
        {counts !== undefined && (
          <>
            <LedgerBar counts={counts} />
            <LedgerNumbers counts={counts} />
          </>
        )}
      </Sourced>
      <Group align="end" mt="xs">
        <Link to="/jobs/$jid" params={{ jid: dry.jid }} search={{ tab: 'states' }}>
          What would change
        </Link>
        <Confirmed
          count={dry.count}
          label={(count) => `Run on the same ${count}`}
          isBusy={isBusy}
          onRun={onRun}
        />
      </Group>
    </Alert>
  );
}

function Refused({ error }: { readonly error: Error | undefined }) {
  if (error === undefined) return null;
  if (isLost(error)) {
    return (
      <Alert color="red" role="alert" title="No answer: it may have been sent">
        {error.message}. The same button asks again, and does it once.
      </Alert>
    );
  }
  return (
    <Alert color="red" role="alert" title="Nothing was sent">
      {error.message}
    </Alert>
  );
}

/** What is to be sent, and what to do then. */
interface Intent {
  readonly command: RunCommand;
  readonly expected: Expected | undefined;
  readonly then: (jid: string, sent: Expected) => void;
}

/** Sends commands, each intent once: a try after a lost answer is the same request. */
function useSending() {
  const queries = useQueryClient();
  const [isBusy, setBusy] = useState(false);
  const [error, setError] = useState<Error>();
  const [change, setChange] = useState<{ readonly intent: Intent; readonly to: Expected }>();
  const named = useRef<{ readonly text: string; readonly key: string }>(undefined);
  const run = async ({ command, expected, then }: Intent): Promise<void> => {
    const asked = requestOf(command);
    if (asked.kind === 'problem') return;
    const expect = expected && { count: expected.count, digest: expected.digest };
    const body = { ...asked.body, ...(expect === undefined ? {} : { expect }) };
    const text = JSON.stringify([asked.path, body]);
    if (named.current?.text !== text) named.current = { text, key: randomName() };
    setBusy(true);
    setError(undefined);
    setChange(undefined);
    try {
      const { jid } = await sendRun(asked.path, body, named.current.key);
      named.current = undefined;
      then(jid, expect ?? { count: 0, digest: '' });
    } catch (cause) {
      if (!(cause instanceof Error)) throw cause;
      const to = cause instanceof ApiError ? cause.changed : undefined;
      if (to === undefined) setError(cause);
      else setChange({ intent: { command, expected, then }, to });
      void queries.invalidateQueries({ queryKey: ['resolve'] });
    } finally {
      setBusy(false);
    }
  };
  return {
    isBusy,
    error,
    changed: change && { from: change.intent.expected?.count ?? 0, to: change.to.count },
    again: () => change && void run({ ...change.intent, expected: change.to }),
    send: (command: RunCommand, expected: Expected | undefined, then: Intent['then']) =>
      run({ command, expected, then }),
  };
}
