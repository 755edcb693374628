import type { CommandManual } from '../command-line.ts';
import { LINK_NAMES } from '../link-names.ts';
import type { CommandForm, Option, OptionGroup } from '../options/command-form.ts';

/** Facts that all pages of a release share. */
export interface ManualRelease {
  readonly version: string;
  /** `2026-11-26`, in the footer of each page. */
  readonly date: string;
}

/** A page of the manual: its file name, as `brine-key.1`, and its text for `man`. */
export interface ManPage {
  readonly file: string;
  readonly text: string;
}

/** Files for the section FILES. */
const FILES: readonly (readonly [path: string, meaning: string])[] = [
  ['/etc/salt, or what BRINE_CONFIG_DIR names', "Salt's configuration: master, minion, master.d"],
  ['/etc/default/brine', 'variables of the environment of all commands and services, if installed'],
];

/**
 * The manual: `brine(1)` and a page for each command, made from the forms of the option parsers.
 */
export function manPages(manuals: readonly CommandManual[], release: ManualRelease): ManPage[] {
  const overview = { file: 'brine.1', text: overviewPage(manuals, release) };
  return [overview, ...manuals.map((manual) => commandPage(manual, release))];
}

function overviewPage(manuals: readonly CommandManual[], release: ManualRelease): string {
  return page('brine', release, [
    ...section('NAME', ['brine \\- a Salt master that scales sideways, and its tools']),
    ...section('SYNOPSIS', ['\\fBbrine\\fR \\fIcommand\\fR [options]']),
    ...section('DESCRIPTION', [
      plain('Each command has a page of its own.'),
      plain(`Called through a link named ${joined([...LINK_NAMES.keys()])}, it is that command.`),
    ]),
    ...section('COMMANDS', manuals.flatMap(commandLine)),
    ...section('FILES', FILES.flatMap(fileEntry)),
    ...section('SEE ALSO', [
      manuals.map(({ name }) => `\\fB${plain(titleOf(name))}\\fR(1)`).join(',\n'),
    ]),
  ]);
}

function commandLine({ name, help }: CommandManual): string[] {
  return ['.TP', `\\fBbrine ${plain(name)}\\fR`, sentence(help)];
}

function fileEntry([path, meaning]: readonly [string, string]): string[] {
  return ['.TP', `\\fI${plain(path)}\\fR`, sentence(meaning)];
}

function commandPage({ name, help, form }: CommandManual, release: ManualRelease): ManPage {
  const title = titleOf(name);
  const link = [...LINK_NAMES].find(([, command]) => command === name)?.[0];
  const alias = link === undefined ? [] : ['.PP', plain(`A link named ${link} is this command.`)];
  const text = page(title, release, [
    ...section('NAME', [`${plain(title)} \\- ${plain(help)}`]),
    ...section('SYNOPSIS', [`\\fBbrine ${plain(name)}\\fR ${plain(form.usage)}`]),
    ...section('DESCRIPTION', [...paragraphs(form.description), ...alias]),
    ...groupsOf(form).flatMap((group) => section(group.title.toUpperCase(), optionsOf(group))),
    ...section('SEE ALSO', ['\\fBbrine\\fR(1)']),
  ]);
  return { file: `${title}.1`, text };
}

function page(title: string, { version, date }: ManualRelease, body: readonly string[]): string {
  const head = `.TH ${title.toUpperCase()} 1 "${date}" "Brine ${version}" "Brine"`;
  // Command lines are copied out of pages: no hyphenation, and no spaces to fill lines.
  return [head, '.nh', '.ad l', ...body, ''].join('\n');
}

function section(title: string, lines: readonly string[]): string[] {
  return [`.SH "${plain(title)}"`, ...lines];
}

function titleOf(name: string): string {
  return `brine-${name.replaceAll(' ', '-')}`;
}

function groupsOf(form: CommandForm): readonly OptionGroup[] {
  return form.groups.filter(({ options }) => options.length > 0);
}

function optionsOf({ options }: OptionGroup): string[] {
  return options.flatMap((option) => ['.TP', namesOf(option), plain(option.help)]);
}

function namesOf(option: Option): string {
  const takes = !['flag', 'off', 'help', 'version', 'report'].includes(option.kind);
  const value = `\\fI${plain(option.metavar ?? option.dest.toUpperCase())}\\fR`;
  const shown = option.names.map((name) => {
    if (!takes) return `\\fB${plain(name)}\\fR`;
    return `\\fB${plain(name)}\\fR${name.startsWith('--') ? '=' : ' '}${value}`;
  });
  return shown.join(', ');
}

function paragraphs(text: string): string[] {
  return text
    .split(/\n\s*\n/)
    .flatMap((part, index) => [...(index === 0 ? [] : ['.PP']), ...part.split('\n').map(plain)]);
}

/** Escapes a text for `man`. */
function plain(text: string): string {
  const escaped = text.replaceAll('\\', '\\e').replaceAll('-', '\\-').replaceAll('`', '\\`');
  // A dot or a quote begins a request at the start of a line.
  return escaped.replaceAll("'", '\\(aq').replace(/^\./, '\\&.');
}

function sentence(text: string): string {
  const whole = text.charAt(0).toUpperCase() + text.slice(1);
  return `${plain(whole)}${whole.endsWith('.') ? '' : '.'}`;
}

function joined(words: readonly string[]): string {
  return `${words.slice(0, -1).join(', ')} or ${words.at(-1) ?? ''}`;
}
