// The log-in page. It keeps nothing: the session is a cookie that no script reads.

const LOG_INS = '../v1/log-ins';
const SESSION = '../v1/session';

const SECTIONS = ['form', 'by-code', 'other', 'session'];
const WRONG_PASSWORD = 'The user, the password or the module is wrong.';
const WRONG_CODE =
  'This code is not valid. It was used before, or it is older than ten minutes. ' +
  'Run "brine console" for another one.';
const UNREACHABLE = 'The master can not be reached. Try again.';

const part = (id) => document.getElementById(id);

/** Takes the code out of the address, so that neither the history nor a copied link has it. */
function takeCode() {
  const { hash, pathname, search } = window.location;
  if (hash === '') return undefined;
  window.history.replaceState(null, '', pathname + search);
  return new URLSearchParams(hash.slice(1)).get('code') ?? undefined;
}

async function ask(path, { method = 'GET', body } = {}) {
  try {
    const answer = await fetch(path, {
      method,
      credentials: 'same-origin',
      cache: 'no-store',
      ...(body === undefined
        ? {}
        : { headers: { 'Content-Type': 'application/json' }, body: JSON.stringify(body) }),
    });
    const text = await answer.text();
    return { ok: answer.ok, value: text === '' ? {} : JSON.parse(text) };
  } catch {
    return { ok: false, value: { title: UNREACHABLE } };
  }
}

function show(...names) {
  for (const name of SECTIONS) part(name).hidden = !names.includes(name);
}

function report(text) {
  part('message').textContent = text;
}

function nameUser({ principal }) {
  for (const one of document.querySelectorAll('.principal')) one.textContent = principal;
}

function showSession(session) {
  const { eauth, expires } = session;
  nameUser(session);
  part('session-eauth').textContent = eauth;
  const ends = part('session-ends');
  ends.dateTime = expires;
  ends.textContent = new Date(expires).toLocaleString();
  report('');
  show('session');
  part('session-title').focus();
}

function showForm(modules) {
  const select = part('eauth');
  select.replaceChildren(...modules.map((name) => new Option(name, name)));
  show(...(modules.length === 0 ? ['by-code'] : ['form', 'by-code']));
}

async function logIn(body, refused) {
  const { ok, value } = await ask(SESSION, { method: 'POST', body });
  if (ok) showSession(value);
  else report(value.code === 'log-in-refused' ? refused : value.title);
  return ok;
}

/** Shows what there is, or logs in with a code. */
async function open(code) {
  const { ok, value } = await ask(LOG_INS);
  if (!ok) {
    report(value.title);
    return;
  }
  const { modules, session } = value;
  if (code === undefined) {
    if (session === undefined) showForm(modules);
    else showSession(session);
    return;
  }
  // Nobody is logged in as another by a link alone.
  if (session !== undefined) {
    askFirst(session, code);
    return;
  }
  if (await logIn({ code }, WRONG_CODE)) return;
  showForm(modules);
}

function askFirst(session, code) {
  nameUser(session);
  show('other');
  part('other-title').focus();
  part('keep').onclick = () => showSession(session);
  part('take').onclick = async () => {
    if (!(await logIn({ code }, WRONG_CODE))) show('session');
  };
}

part('form').addEventListener('submit', async (event) => {
  event.preventDefault();
  const button = part('submit');
  const password = part('password');
  button.disabled = true;
  report('');
  const body = { username: part('username').value, password: password.value };
  const ok = await logIn({ ...body, eauth: part('eauth').value }, WRONG_PASSWORD);
  button.disabled = false;
  password.value = '';
  if (!ok) password.focus();
});

part('log-out').addEventListener('click', async () => {
  const { ok, value } = await ask(SESSION, { method: 'DELETE' });
  // A session that has ended already is as good.
  if (!ok && value.code !== 'not-logged-in') {
    report(value.title);
    return;
  }
  report('');
  await open(undefined);
  part('title').focus();
});

// An address with a code that is opened in this very tab loads nothing.
window.addEventListener('hashchange', () => {
  const code = takeCode();
  if (code !== undefined) void open(code);
});

await open(takeCode());
