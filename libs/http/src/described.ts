import type { IncomingMessage, ServerResponse } from 'node:http';
import swagger from '@fastify/swagger';
import type { FastifyBaseLogger, FastifyInstance, RawServerDefault } from 'fastify';
import {
  createJsonSchemaTransform,
  hasZodFastifySchemaValidationErrors,
  jsonSchemaTransformObject,
  serializerCompiler,
  validatorCompiler,
  type ZodTypeProvider,
} from 'fastify-type-provider-zod';
import type { HttpApp } from './http-listener.ts';

/** An application whose routes have schemas: they check what comes, and make the document. */
export type DescribedApp = FastifyInstance<
  RawServerDefault,
  IncomingMessage,
  ServerResponse,
  FastifyBaseLogger,
  ZodTypeProvider
>;

/** What the document states of all routes. */
export interface ApiInfo {
  readonly title: string;
  /** The cookie that names a log-in. */
  readonly cookie: string;
  readonly version: string;
  readonly description: string;
  readonly tags: readonly { readonly name: string; readonly description: string }[];
}

/** The document of an API. */
export type ApiDocument = ReturnType<HttpApp['swagger']>;

/** Adds routes with schemas to an application, and makes their document. */
export async function described(
  app: HttpApp,
  info: ApiInfo,
  addRoutes: (app: DescribedApp) => void,
): Promise<void> {
  const { title, cookie, version, description, tags } = info;
  app.setValidatorCompiler(validatorCompiler);
  app.setSerializerCompiler(serializerCompiler);
  await app.register(swagger, {
    openapi: {
      openapi: '3.1.0',
      info: { title, version, description },
      tags: [...tags],
      components: {
        securitySchemes: {
          session: { type: 'apiKey', in: 'cookie', name: cookie },
          bearer: { type: 'http', scheme: 'bearer' },
        },
      },
      security: [{ session: [] }, { bearer: [] }],
    },
    transform: createJsonSchemaTransform({}),
    transformObject: (given) => withUsedSchemas(jsonSchemaTransformObject(given)),
  });
  addRoutes(app.withTypeProvider<ZodTypeProvider>());
}

const REF = '#/components/schemas/';

/**
 * Each schema comes in two forms, `X` as an answer and `XInput` as a body. Leaves out those that no
 * route uses; `XInput` is `X` where that is the only one.
 */
function withUsedSchemas<T extends object>(document: T): T {
  const { paths, components = {} } = document as Documented;
  const schemas = components.schemas ?? {};
  const used = new Set<string>();
  const add = (value: unknown): void => {
    for (const [, name = ''] of JSON.stringify(value).matchAll(
      /"#\/components\/schemas\/(\w+)"/g,
    )) {
      if (used.has(name)) continue;
      used.add(name);
      add(schemas[name]);
    }
  };
  add(paths);
  const nameOf = (name: string): string => {
    const plain = name.replace(/Input$/, '');
    return used.has(plain) ? name : plain;
  };
  const kept = [...used].sort().map((name) => [nameOf(name), schemas[name]] as const);
  const whole = { ...document, components: { ...components, schemas: Object.fromEntries(kept) } };
  const renamed = JSON.stringify(whole).replace(
    /"#\/components\/schemas\/(\w+)"/g,
    (_, name: string) => JSON.stringify(REF + nameOf(name)),
  );
  return JSON.parse(renamed) as T;
}

interface Documented {
  readonly paths?: unknown;
  readonly components?: { readonly schemas?: Readonly<Record<string, unknown>> };
}

/** OpenAPI 3.1 of the routes that were added. */
export function documentOf(app: HttpApp): ApiDocument {
  return app.swagger();
}

/** What does not fit in a request, for its peer; undefined for any other error. */
export function unfitOf(error: unknown): string | undefined {
  if (!hasZodFastifySchemaValidationErrors(error)) return undefined;
  const { validationContext: part = 'request', validation } = error;
  return validation
    .map(({ instancePath, message }) => `${part}${instancePath}: ${message ?? 'does not fit'}`)
    .join('; ');
}
