import { PROBLEMS } from '@brine/api';

/** What of an OpenAPI document the page shows. */
export interface ApiDocument {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
  readonly components: { readonly schemas: Readonly<Record<string, Schema>> };
}

interface Operation {
  readonly summary: string;
  readonly description?: string;
  readonly parameters?: readonly {
    readonly name: string;
    readonly in: string;
    readonly description?: string;
    readonly schema: Schema;
  }[];
  readonly requestBody?: { readonly content: Content };
  readonly responses: Readonly<Record<string, { readonly content?: Content }>>;
}

type Content = Readonly<Record<string, { readonly schema: Schema }>>;

interface Schema {
  readonly $ref?: string;
  readonly type?: string | readonly string[];
  readonly description?: string;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly items?: Schema;
  readonly anyOf?: readonly Schema[];
  readonly enum?: readonly unknown[];
  readonly default?: string | number | boolean;
  readonly additionalProperties?: Schema | boolean;
  readonly pattern?: string;
  readonly const?: string;
  readonly example?: string | number | boolean;
}

const HEAD = `# The API \`/v1\`

This page is made from the document that each http-api serves at \`/v1/openapi.json\`, and as a
page at \`/v1/docs\`. The addresses of a stock salt-api are on [another page](http-api.md).

A log-in gives a cookie. Programs send its value, or a token of \`salt -T\` or of \`/token\`,
as \`Authorization: Bearer …\` or \`X-Auth-Token\`. A page of another origin is refused where the
cookie alone names the caller.

Bodies and answers are JSON. Unknown fields are refused. An error is a problem as of RFC 9457; its
\`code\` is for programs, and its \`type\` leads to this table.
`;

/** The page of the documentation that shows a document. */
export function pageOf(document: ApiDocument): string {
  const { paths, components } = document;
  return [
    HEAD.trimEnd(),
    '## Errors',
    table(
      ['code', 'status', 'meaning', 'may succeed later'],
      Object.entries(PROBLEMS).map(([code, { status, title, retryable }]) => [
        `\`${code}\``,
        String(status),
        title,
        retryable ? 'yes' : 'no',
      ]),
    ),
    '## Addresses',
    ...Object.entries(paths).flatMap(([path, methods]) =>
      Object.entries(methods).map(([method, operation]) => routeOf(method, path, operation)),
    ),
    '## Schemas',
    ...Object.entries(components.schemas).map(([name, schema]) => schemaOf(name, schema)),
    '',
  ]
    .join('\n\n')
    .replace(/\n+$/, '\n');
}

function routeOf(method: string, path: string, operation: Operation): string {
  const { summary, description, parameters = [], requestBody, responses } = operation;
  const answers = Object.entries(responses).map(([status, { content }]) => {
    const shown = content === undefined ? 'nothing' : typeOf(Object.values(content)[0]?.schema);
    return [status, shown];
  });
  return [
    `### ${method.toUpperCase()} ${path}`,
    `${summary}.${description === undefined ? '' : ` ${description}`}`,
    ...(parameters.length === 0
      ? []
      : [
          table(
            ['parameter', 'type', 'meaning'],
            parameters.map((one) => [`\`${one.name}\``, typeOf(one.schema), one.description ?? '']),
          ),
        ]),
    ...(requestBody === undefined
      ? []
      : [`Takes ${typeOf(Object.values(requestBody.content)[0]?.schema)}.`]),
    table(['status', 'answer'], answers),
  ].join('\n\n');
}

function schemaOf(name: string, schema: Schema): string {
  const { properties, required = [], description, example } = schema;
  const intro = [
    description,
    example === undefined ? undefined : `Such as \`${String(example)}\`.`,
  ];
  const rows = Object.entries(properties ?? {}).map(([field, of]) => [
    `\`${field}\``,
    `${typeOf(of)}${required.includes(field) ? '' : ', optional'}`,
    [of.description, of.default === undefined ? undefined : `Default \`${String(of.default)}\`.`]
      .filter((part) => part !== undefined)
      .join(' '),
  ]);
  const messages = (schema.anyOf ?? []).flatMap(({ properties: of }) =>
    of?.['event']?.const === undefined || of['data'] === undefined
      ? []
      : [[`\`${of['event'].const}\``, typeOf(of['data']), of['data'].description ?? '']],
  );
  return [
    `### ${name}`,
    ...intro.filter((part) => part !== undefined),
    messages.length > 0
      ? table(['event', 'data', 'meaning'], messages)
      : properties === undefined
        ? `${typeOf(schema)}.`
        : table(['field', 'type', 'meaning'], rows),
  ].join('\n\n');
}

function typeOf(schema: Schema | undefined): string {
  if (schema === undefined) return 'nothing';
  const { $ref, anyOf, enum: values, items, additionalProperties, type, properties } = schema;
  if ($ref !== undefined) {
    const name = $ref.split('/').at(-1) ?? '';
    return `[${name}](#${name.toLowerCase()})`;
  }
  if (anyOf !== undefined) return anyOf.map(typeOf).join(' or ');
  if (values !== undefined) return values.map((value) => `\`${String(value)}\``).join(', ');
  if (items !== undefined) return `list of ${typeOf(items)}`;
  if (properties !== undefined) {
    const fields = Object.entries(properties).map(([name, of]) => `\`${name}\`: ${typeOf(of)}`);
    return `{ ${fields.join(', ')} }`;
  }
  if (typeof additionalProperties === 'object') return `map to ${typeOf(additionalProperties)}`;
  return [type ?? 'any'].flat().join(' or ');
}

function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]): string =>
    `|${cells.map((cell) => (cell === '' ? ' ' : ` ${cell.replaceAll('|', '\\|')} `)).join('|')}|`;
  return [line(head), line(head.map(() => '---')), ...rows.map(line)].join('\n');
}
