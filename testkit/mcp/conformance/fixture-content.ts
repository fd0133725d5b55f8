/** Content of the tools, resources and prompts that the conformance suite names, in both eras. */
const png = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg=='
export const wav = 'UklGRiYAAABXQVZFZm10IBAAAAABAAEAQB8AAAB9AAACABAAZGF0YQIAAAA='
export const text = (value: string) => ({ type: 'text' as const, text: value })
export const image = { type: 'image' as const, data: png, mimeType: 'image/png' }
export const embedded = (uri: string) => ({
  type: 'resource' as const,
  resource: { uri, mimeType: 'text/plain', text: 'Embedded for the suite.' },
})

export const schema2020 = {
  $schema: 'https://json-schema.org/draft/2020-12/schema',
  type: 'object' as const,
  $defs: {
    address: { type: 'object', properties: { street: { type: 'string' }, city: { type: 'string' } } },
  },
  properties: { name: { type: 'string' }, address: { $ref: '#/$defs/address' } },
  additionalProperties: false,
}

/** The resources that the suite reads, by address. */
export const fixedResources: Record<
  string,
  { mimeType: string; text: string } | { mimeType: string; blob: string }
> = {
  'test://static-text': { mimeType: 'text/plain', text: 'The static text.' },
  'test://static-binary': { mimeType: 'image/png', blob: png },
  'test://watched-resource': { mimeType: 'text/plain', text: 'The watched text.' },
}

/** The content of an address that the suite reads; undefined for any other. */
export function fixedResource(uri: string) {
  const id = uri.match(/^test:\/\/template\/([^/]+)\/data$/)?.[1]
  return id === undefined
    ? fixedResources[uri]
    : { mimeType: 'application/json', text: JSON.stringify({ id }) }
}

export const fixedTemplates = [{ uriTemplate: 'test://template/{id}/data', name: 'template' }]

const needs = (...names: string[]) => names.map((name) => ({ name, required: true }))
export const fixedPrompts: Record<
  string,
  { arguments?: unknown[]; say(args: Record<string, string>): unknown[] }
> = {
  test_simple_prompt: { say: () => [text('A simple prompt.')] },
  test_prompt_with_arguments: {
    arguments: needs('arg1', 'arg2'),
    say: ({ arg1, arg2 }) => [text(`arg1=${arg1}, arg2=${arg2}`)],
  },
  test_prompt_with_embedded_resource: {
    arguments: needs('resourceUri'),
    say: ({ resourceUri }) => [embedded(resourceUri!), text('Look at the resource.')],
  },
  test_prompt_with_image: { say: () => [image, text('Look at the image.')] },
}

export const listedFixedPrompts = Object.entries(fixedPrompts).map(([name, prompt]) => ({
  name,
  description: `For the suite: ${name}`,
  arguments: prompt.arguments as never,
}))
