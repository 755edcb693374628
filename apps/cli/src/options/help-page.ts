import type { CommandForm, Option, OptionGroup } from './command-form.ts';

const HELP_COLUMN = 26;
const WIDTH = 79;

/** The page of `--help`. */
export function helpPage(form: CommandForm): string {
  const sections = form.groups.map((group, index) => section(group, index === 0 ? '' : '  '));
  return [`Usage: ${form.prog} ${form.usage}`, '', form.description, '', ...sections].join('\n');
}

function section(group: OptionGroup, indent: string): string {
  const lines = group.options.flatMap((option) => entry(option, `${indent}  `));
  return `${[`${indent}${group.title}:`, ...lines].join('\n')}\n`;
}

function entry(option: Option, indent: string): string[] {
  const metavar = option.metavar ?? option.dest.toUpperCase();
  const takes = !['flag', 'off', 'help', 'version', 'report'].includes(option.kind);
  const names = option.names.map((name) => {
    if (!takes) return name;
    return name.startsWith('--') ? `${name}=${metavar}` : `${name} ${metavar}`;
  });
  const head = indent + names.join(', ');
  const [first = '', ...more] = wrap(option.help, WIDTH - HELP_COLUMN);
  const pad = ' '.repeat(HELP_COLUMN);
  const rest = more.map((line) => pad + line);
  if (head.length + 2 > HELP_COLUMN) return [head, pad + first, ...rest];
  return [head.padEnd(HELP_COLUMN) + first, ...rest];
}

function wrap(words: string, width: number): string[] {
  const lines: string[] = [];
  let line = '';
  for (const word of words.split(' ')) {
    if (line !== '' && line.length + 1 + word.length > width) {
      lines.push(line);
      line = word;
    } else {
      line = line === '' ? word : `${line} ${word}`;
    }
  }
  return [...lines, line];
}
