import { readFileSync } from 'node:fs'
import { type Document, isMap, isNode, LineCounter, parseDocument } from 'yaml'
import { z } from 'zod'
import { policyContent } from '../contract/policy.ts'

const httpsPort = 443

export const domain = z
  .string()
  .regex(/^(?=.{1,253}$)[a-z0-9]([a-z0-9-]*[a-z0-9])?(\.[a-z0-9]([a-z0-9-]*[a-z0-9])?)*$/, 'must be a domain')
const name = z
  .string()
  .regex(/^[a-z0-9][a-z0-9-]{0,30}$/, 'must be 1 to 31 lower-case letters, digits and hyphens')
const imagePrefix = z
  .string()
  .regex(
    /^[A-Za-z0-9][A-Za-z0-9.-]*(?::\d{1,5})?(?:\/[a-z0-9]+(?:[._-]+[a-z0-9]+)*)*$/,
    'must be host:port/prefix',
  )
const filePath = z.string().min(1, 'must be the path of a file')

const objectName = z
  .string()
  .regex(/^[a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?$/, 'must be the name of an object of the cluster')

const annotationName = /^(?:[a-z0-9][a-z0-9.-]{0,252}\/)?[A-Za-z0-9][A-Za-z0-9._-]{0,62}$/
const annotationsOf = z
  .record(z.string(), z.string('must be text: put numbers and true or false in quotes'))
  .superRefine((annotations, context) => {
    for (const key of Object.keys(annotations))
      if (!annotationName.test(key))
        context.addIssue({ code: 'custom', path: [key], message: 'must have the name of an annotation' })
  })

const clusterFields = z.strictObject({
  name,
  engine: z.literal('kubernetes'),
  /** Absent: the service account of the pod that runs Longshore. */
  kubeconfig: filePath.optional(),
  /** Absent: the current one of the kubeconfig. */
  context: z.string().min(1).optional(),
  namespacePrefix: z
    .string()
    .regex(/^[a-z]([a-z0-9-]{0,20}-)?$/, 'must be lower-case letters, digits and hyphens, such as ls-')
    .default('ls-'),
  appDomain: domain,
  /** Absent: the region runs no functions (F5). */
  functionDomain: domain.optional(),
  /** The port in the URLs of apps and functions. */
  publicPort: z.int().min(1).max(65_535).default(httpsPort),
  ingressClass: z.string().min(1).optional(),
  /** In place of an Ingress for each app: a route of this Gateway (Gateway API). */
  gateway: z
    .strictObject({ name: objectName, namespace: objectName, listener: objectName.optional() })
    .optional(),
  /** `default`: the certificate that the ingress controller has. */
  tls: z
    .union([z.literal('default'), z.strictObject({ clusterIssuer: objectName })], {
      error:
        'must be default (the certificate of the ingress controller) or { clusterIssuer: name } of cert-manager',
    })
    .optional(),
  /** Annotations for each app's route and Service that the ingress or the Gateway reads, such as retry rules. */
  annotations: z
    .strictObject({ route: annotationsOf.default({}), service: annotationsOf.default({}) })
    .optional(),
  /** Pod Security of the namespaces of accounts. */
  podSecurity: z.enum(['baseline', 'restricted'], 'must be baseline or restricted').default('baseline'),
  /** Absent: the default class of the cluster. */
  storageClass: z.string().min(1).optional(),
  registry: z
    .strictObject({
      push: imagePrefix,
      pull: imagePrefix,
      insecure: z.boolean().default(false),
      credentialsFile: filePath.optional(),
    })
    .optional(),
  buildkit: z
    .string()
    .regex(/^(?:tcp:\/\/[^/\s]+:\d{1,5}|unix:\/\/\/\S+)$/, 'must be tcp://host:port or unix:///path')
    .optional(),
  prometheus: z.url({ protocol: /^https?$/, error: 'must be an http or https address' }).optional(),
})

const clusterRegion = clusterFields.superRefine((region, context) => {
  const problem = (key: keyof typeof region, message: string) =>
    context.addIssue({ code: 'custom', path: [key], message })
  if (region.gateway && region.ingressClass !== undefined)
    problem('gateway', 'takes the place of ingressClass: remove one of them')
  if (region.gateway && region.tls)
    problem('tls', 'is for an ingress: the listener of the Gateway has the certificate (gateway.listener)')
  if (region.tls && region.publicPort !== httpsPort)
    problem('publicPort', `must be ${httpsPort} with tls, because addresses with that port begin with https`)
})

/** The settings of a cluster region in the configuration file (docs/interface.md#regions-file). */
export type ClusterSetting = z.output<typeof clusterRegion>

/**
 * A cluster that no file describes: apps at `<envName>.<appDomain>`, and neither functions nor builds. `kubeconfig`
 * absent: in-cluster.
 */
export function plainCluster(
  name: string,
  kubeconfig: string | undefined,
  appDomain: string,
): ClusterSetting {
  const addresses = { appDomain, publicPort: 80 }
  return clusterRegion.parse({ name, engine: 'kubernetes', ...addresses, kubeconfig })
}

/** Two regions with the same ones would remove the objects of each other; null: not in a cluster. */
function namespacesOf(region: z.output<typeof clusterRegion | typeof machineRegion>): string | null {
  if (region.engine !== 'kubernetes') return null
  return JSON.stringify([region.kubeconfig, region.context, region.namespacePrefix])
}

const machineRegion = z
  .strictObject({
    name,
    engine: z.enum(['auto', 'process', 'docker']),
    /** Absent: LONGSHORE_APP_DOMAIN and LONGSHORE_FUNCTION_DOMAIN. */
    appDomain: domain.optional(),
    functionDomain: domain.optional(),
    /** The port in the URLs of apps and functions; absent: that of the gateway. */
    publicPort: z.int().min(1).max(65_535).optional(),
  })
  .refine(({ appDomain, functionDomain }) => !appDomain || appDomain !== functionDomain, {
    path: ['functionDomain'],
    message: 'must differ from appDomain',
  })
const file = z.strictObject({
  regions: z
    .array(
      z.discriminatedUnion('engine', [machineRegion, clusterRegion], {
        error: 'must be process, docker or kubernetes',
      }),
    )
    .min(1, 'must name at least one region')
    .refine(
      (list) => new Set(list.map((one) => one.name)).size === list.length,
      'must have a name of its own each',
    )
    .superRefine((list, context) => {
      const all = list.map(namespacesOf)
      for (const [index, namespaces] of all.entries())
        if (namespaces !== null && all.indexOf(namespaces) < index)
          context.addIssue({
            code: 'custom',
            path: [index, 'namespacePrefix'],
            message: 'must differ from that of the other region of this cluster',
          })
    })
    .optional(),
  /** Applies to every account (docs/autonomy.md#policy). */
  policy: policyContent.optional(),
})

export type ConfigFile = z.output<typeof file>

/**
 * Reads the YAML file of `LONGSHORE_CONFIG`. Its problems are sentences with the line and column they stand at; then
 * `value` is null.
 */
export function readConfigFile(path: string): { value: ConfigFile | null; problems: string[] } {
  let text: string
  try {
    text = readFileSync(path, 'utf8')
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    return { value: null, problems: [`LONGSHORE_CONFIG: ${path} cannot be read (${code})`] }
  }
  const lines = new LineCounter()
  const document = parseDocument(text, { lineCounter: lines })
  const at = (offset: number) => {
    const { line, col } = lines.linePos(offset)
    return `${path} line ${line}, column ${col}`
  }
  if (document.errors.length > 0) {
    const problems = document.errors.map(({ pos, message }) => `${at(pos[0])}: ${message.split('\n')[0]}`)
    return { value: null, problems }
  }
  const parsed = file.safeParse(document.toJS() ?? {}, { reportInput: true })
  if (parsed.success) return { value: parsed.data, problems: [] }
  return {
    value: null,
    problems: parsed.error.issues.flatMap((issue) =>
      placesOf(issue).map(
        ({ path: place, text: problem }) =>
          `${at(offsetOf(document, place))}: ${place.join('.')}: ${problem}`,
      ),
    ),
  }
}

/** One place for each problem: an issue about unknown keys is about each of them. */
function placesOf(issue: z.core.$ZodIssue): { path: PropertyKey[]; text: string }[] {
  if (issue.code !== 'unrecognized_keys') {
    const isMissing = issue.code === 'invalid_type' && issue.input === undefined
    return [{ path: issue.path, text: isMissing ? 'is missing' : issue.message }]
  }
  return issue.keys.map((key) => ({
    path: [...issue.path, key],
    text: 'is not a setting here (README lists them)',
  }))
}

/**
 * The position of the key at `path`, or of the value in a list; if it is missing, that of the innermost one around it.
 */
function offsetOf(document: Document, path: PropertyKey[]): number {
  for (let length = path.length; length > 0; length -= 1) {
    const parent = length === 1 ? document.contents : document.getIn(path.slice(0, length - 1), true)
    const pair = isMap(parent)
      ? parent.items.find(({ key }) => isNode(key) && String(key) === String(path[length - 1]))
      : undefined
    const node = pair?.key ?? document.getIn(path.slice(0, length), true)
    if (isNode(node) && node.range) return node.range[0]
  }
  return 0
}
