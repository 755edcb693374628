/** The part of an OpenAPI document (version 3) that describes the kinds of Kubernetes. */
export interface OpenApi {
  readonly components: { readonly schemas: Readonly<Record<string, Schema>> };
}

interface Schema {
  readonly properties?: Readonly<Record<string, unknown>>;
  readonly 'x-kubernetes-group-version-kind'?: readonly GroupVersionKind[];
  readonly [key: string]: unknown;
}

interface GroupVersionKind {
  readonly group: string;
  readonly version: string;
  readonly kind: string;
}

/**
 * A JSON schema for each kind of a document, by the file name that kubeconform expects
 * (`deployment-apps-v1.json`). Unknown fields of a kind are refused, as with its `-strict`:
 * kubeconform leaves that to the schemas.
 */
export function kindSchemas(document: OpenApi): ReadonlyMap<string, string> {
  const definitions = Object.fromEntries(
    Object.entries(document.components.schemas).map(([name, schema]) => [name, strict(schema)]),
  );
  const inside = JSON.stringify(definitions).replaceAll('#/components/schemas/', '#/definitions/');
  const files = new Map<string, string>();
  for (const [name, schema] of Object.entries(document.components.schemas)) {
    for (const { group, version, kind } of schema['x-kubernetes-group-version-kind'] ?? []) {
      const [first = ''] = group.split('.', 1);
      const suffix = first === '' ? version : `${first}-${version}`;
      const text = `{"$ref":${JSON.stringify(`#/definitions/${name}`)},"definitions":${inside}}`;
      files.set(`${kind}-${suffix}.json`.toLowerCase(), text);
    }
  }
  return files;
}

function strict(schema: Schema): Schema {
  const open = schema['additionalProperties'] !== undefined || schema.properties === undefined;
  return open ? schema : { ...schema, additionalProperties: false };
}
