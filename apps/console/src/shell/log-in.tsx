import { Alert, Button, NativeSelect, PasswordInput, Stack, Text, TextInput } from '@mantine/core';
import { type RefObject, type SyntheticEvent, useRef, useState } from 'react';
import { ApiError } from '../api/ask.ts';
import { type LogIn, logIn, type LogIns } from '../api/session.ts';
import { Given } from '../parts/given.tsx';
import { leaveForLogIn } from './log-in-elsewhere.ts';

const WRONG_PASSWORD = 'The user, the password or the module is wrong.';

interface LogInFormProps {
  /** Undefined until it is known. */
  readonly logIns: Pick<LogIns, 'modules' | 'elsewhere'> | undefined;
  /** The user of a session that has ended. */
  readonly user?: string;
  readonly onLoggedIn: () => void;
}

/** Asks for a name and a password, or leaves for the provider that has them. */
export function LogInForm({ logIns, user = '', onLoggedIn }: LogInFormProps) {
  const { modules = [], elsewhere } = logIns ?? {};
  const [trouble, setTrouble] = useState('');
  const [isBusy, setBusy] = useState(false);
  const password = useRef<HTMLInputElement>(null);
  const send = async (given: LogIn): Promise<void> => {
    setBusy(true);
    setTrouble('');
    try {
      await logIn(given);
      onLoggedIn();
    } catch (error) {
      setTrouble(textOf(error));
      password.current?.focus();
    }
    if (password.current !== null) password.current.value = '';
    setBusy(false);
  };
  const submit = (event: SyntheticEvent<HTMLFormElement>): void => {
    event.preventDefault();
    const form = new FormData(event.currentTarget);
    const field = (name: string): string => {
      const value = form.get(name);
      return typeof value === 'string' ? value : '';
    };
    void send({
      username: field('username'),
      password: field('password'),
      eauth: field('eauth'),
    });
  };
  return (
    <Stack>
      {trouble !== '' && (
        <Alert color="red" role="alert">
          {trouble}
        </Alert>
      )}
      {elsewhere !== undefined && (
        <Button onClick={leaveForLogIn} data-autofocus={modules.length === 0 || undefined}>
          Log in by <Given text={elsewhere} />
        </Button>
      )}
      {modules.length > 0 && (
        <form onSubmit={submit}>
          <Stack>
            <Fields user={user} modules={modules} password={password} />
            <Button type="submit" loading={isBusy}>
              Log in
            </Button>
          </Stack>
        </form>
      )}
      <Text size="sm">
        On the host of the master, <code>brine console</code> prints an address that logs in once.
      </Text>
    </Stack>
  );
}

interface FieldsProps {
  readonly user: string;
  readonly modules: readonly string[];
  readonly password: RefObject<HTMLInputElement | null>;
}

function Fields({ user, modules, password }: FieldsProps) {
  return (
    <>
      <TextInput
        label="User"
        name="username"
        autoComplete="username"
        autoCapitalize="none"
        spellCheck={false}
        maxLength={1_024}
        defaultValue={user}
        required
        data-autofocus
      />
      <PasswordInput
        ref={password}
        label="Password"
        name="password"
        autoComplete="current-password"
      />
      <NativeSelect label="Log-in module" name="eauth" data={[...modules]} />
    </>
  );
}

function textOf(error: unknown): string {
  if (error instanceof ApiError && error.code === 'log-in-refused') return WRONG_PASSWORD;
  return error instanceof Error ? error.message : String(error);
}
