import { isMap, type SaltMap, type SaltValue } from '@brine/wire';

/** A command that the operator has prepared. */
export interface Template {
  readonly name: string;
  readonly description: string;
  readonly target: string;
  readonly targetType: string;
  readonly command: string;
  /** What the command calls. */
  readonly calls: {
    readonly of: 'module' | 'runner' | 'wheel';
    readonly functions: readonly string[];
  };
}

/** The option of SaltGUI that has templates. */
export const TEMPLATES = 'saltgui_templates';
/** Templates of one master; a page draws each. */
const TEMPLATES_MAX = 500;
const TEXT_MAX = 4_096;
/** A printable text. */
const TEXT = /^\P{Cc}*$/u;
/** A function, or several, of minions or of the master (SaltGUI: scripts/CommandBox.js). */
const COMMAND = /^(?:(runners|wheel)\.)?([\w.]+(?:,[\w.]+)*)(?: |$)/;
const KINDS = { runners: 'runner', wheel: 'wheel' } as const;

/** The templates of an option, by name, and the names of entries that are none. */
export function readTemplates(option: SaltValue | undefined): {
  readonly templates: readonly Template[];
  readonly dropped: readonly string[];
} {
  if (option === undefined || option === null) return { templates: [], dropped: [] };
  if (!isMap(option)) return { templates: [], dropped: ['the whole option'] };
  const templates: Template[] = [];
  const dropped: string[] = [];
  for (const [name, entry] of option) {
    const template = isMap(entry) ? templateOf(textIn(name), entry) : undefined;
    if (template === undefined || templates.length >= TEMPLATES_MAX) dropped.push(nameOf(name));
    else templates.push(template);
  }
  return { templates: templates.sort((a, b) => (a.name < b.name ? -1 : 1)), dropped };
}

function templateOf(name: string | undefined, entry: SaltMap): Template | undefined {
  const [description, target, targetType, command] = [
    textIn(entry.get('description') ?? ''),
    textIn(entry.get('target') ?? ''),
    textIn(entry.get('targettype') ?? ''),
    textIn(entry.get('command') ?? ''),
  ];
  if (name === undefined || description === undefined) return undefined;
  if (target === undefined || targetType === undefined || command === undefined) return undefined;
  const [, prefix, called = ''] = COMMAND.exec(command) ?? [];
  if (called === '') return undefined;
  const of = prefix === 'runners' || prefix === 'wheel' ? KINDS[prefix] : 'module';
  const calls: Template['calls'] = { of, functions: called.split(',') };
  return { name, description, target, targetType, command, calls };
}

function textIn(value: SaltValue): string | undefined {
  return typeof value === 'string' && value.length <= TEXT_MAX && TEXT.test(value)
    ? value
    : undefined;
}

/** A name for the log. */
function nameOf(name: SaltValue): string {
  return typeof name === 'string' && TEXT.test(name) ? name.slice(0, 64) : '?';
}
