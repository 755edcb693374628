import { resolve } from 'node:path';
import { ApiConnection } from '../api/api-connection.ts';
import { ApiRefusedError, ApiUnreachableError } from '../api/api-errors.ts';
import { apiUrl } from '../api/api-url.ts';
import { logIn } from '../api/log-in.ts';
import { changeSessions, readSessions, sessionFile } from '../api/session-file.ts';
import { EXIT, Exit } from '../exit-codes.ts';
import { systemUser } from '../master-config.ts';
import { text, textValue } from '../options/command-form.ts';
import { brineForm } from '../options/common-groups.ts';
import { OptionParser } from '../options/option-parser.ts';
import type { Terminal } from '../terminal.ts';

const DESCRIPTION = `Logs in at the HTTP API of a master (docs/laptop.md). Then \`brine --api\`
works on that master from here.

The password is asked for; without a terminal it is the first line of stdin. The session is stored
in ~/.config/brine, which only its user can read. It ends as the master's token_expire sets.`;

const OPTIONS = [
  text(['--eauth'], 'eauth', 'The module of external_auth to log in with.', 'pam'),
  text(['--username'], 'username', 'Name to log in with; default the name of this user.'),
  text(['--ca'], 'ca', "File with the CA of the API's certificate, for a CA of your own."),
];

/** `brine login URL`: begins a session, and stores it. Returns the exit code. */
export async function runLogin(args: readonly string[], terminal: Terminal): Promise<number> {
  const parser = new OptionParser(brineForm('login', DESCRIPTION, OPTIONS, '[options] <url>'));
  const options = parser.parse(args);
  const [given, ...more] = options.args;
  if (given === undefined || more.length > 0) throw parser.error('one address is needed');
  const url = apiUrl(given);
  const path = sessionFile();
  // A file that can not be used is refused before a password is asked for.
  readSessions(path);
  const named = textValue(options, 'ca');
  const ca = named === undefined ? undefined : resolve(named);
  const eauth = textValue(options, 'eauth') ?? 'pam';
  const username = textValue(options, 'username') ?? systemUser();
  const api = new ApiConnection(url, ca);
  try {
    const password = await terminal.askSecret(`Password of ${username} at ${url}: `);
    if (password === undefined) throw new Exit(EXIT.noReturn, 'brine: there is no password\n');
    const session = await logIn(api, { username, password, eauth });
    await changeSessions(path, ({ sessions }) => {
      // The newest is the last.
      const { [url]: _before, ...others } = sessions;
      const stored = { ...session, ...(ca === undefined ? {} : { ca }) };
      return { last: url, sessions: { ...others, [url]: stored } };
    });
    terminal.out(`Logged in at ${url} as ${session.user}, until ${session.expires}.\n`);
    return EXIT.ok;
  } catch (error) {
    throw inWordsOfApi(error);
  } finally {
    api.close();
  }
}

/** An error of the API as the end of a command. */
export function inWordsOfApi(error: unknown): unknown {
  if (error instanceof ApiUnreachableError) {
    return new Exit(EXIT.generic, `brine: ${error.message}\n`);
  }
  if (!(error instanceof ApiRefusedError)) return error;
  const code = error.status === 401 ? EXIT.noReturn : EXIT.generic;
  return new Exit(code, `brine: ${error.message}\n`);
}
