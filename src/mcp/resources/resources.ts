import { AppError } from '../../errors.ts'
import { appUri, listedApp, readApp } from '../apps/apps.ts'
import type { ToolResult } from '../tools/result.ts'
import { type GuideSlug, guides } from './guides.ts'
import { logOf } from './log-links.ts'
import { guideOfSkill, skillText, skillUri } from './skills.ts'

/** A resource as a client sees it in `resources/list`. */
interface ListedResource {
  uri: string
  name: string
  title: string
  description: string
  mimeType: string
}

interface ListedTemplate extends Omit<ListedResource, 'uri'> {
  uriTemplate: string
}

/** Result of `resources/read`: one text. */
export interface ResourceText {
  uri: string
  mimeType: string
  text: string
  _meta?: Record<string, unknown>
}

/** Calls a tool on behalf of the caller, so that reading a resource passes the same checks as a tool call. */
export type CallTool = (name: string, args: Record<string, unknown>) => Promise<ToolResult>

const markdown = 'text/markdown'
const json = 'application/json'
const guidesAt = 'longshore://guides/'
const environmentsAt = 'longshore://environments'
/** Bounds the resource; list-app-envs lists all. */
const mostEnvironments = 200
const loggedLines = 300

const environmentList: ListedResource = {
  uri: environmentsAt,
  name: 'environments',
  title: 'Environments now',
  description: 'The environments the caller can see, with app, region, status and version.',
  mimeType: json,
}

const environment: ListedTemplate = {
  uriTemplate: `${environmentsAt}/{envName}`,
  name: 'environment',
  title: 'One environment now',
  description:
    'Status, version, newest deployment, containers and addresses of an environment, by envName or appEnvId.',
  mimeType: json,
}

const logs: ListedTemplate = {
  uriTemplate: `${environmentsAt}/{envName}/logs/{type}`,
  name: 'logs',
  title: 'Log of an environment',
  description: 'The newest 300 lines of a log; type is RUNTIME, BUILD, JOB or REQUEST.',
  mimeType: 'text/plain',
}

/** The guides, the list of environments if the tools that read it are offered, and the page for hosts that show it. */
export function listedResources(toolNames: ReadonlySet<string>, takesApps = false): ListedResource[] {
  const shown: ListedResource[] = guides.flatMap((guide) => {
    const { slug, skill, title, description, when } = guide
    const about = { title, mimeType: markdown }
    return [
      { uri: `${guidesAt}${slug}`, name: slug, ...about, description },
      { uri: skillUri(guide), name: skill, ...about, description: `${description} ${when}` },
    ]
  })
  if (canListEnvironments(toolNames)) shown.push(environmentList)
  return takesApps ? [...shown, listedApp] : shown
}

export function listedTemplates(toolNames: ReadonlySet<string>): ListedTemplate[] {
  return [
    ...(toolNames.has('get-app-env-status') ? [environment] : []),
    ...(toolNames.has('get-logs') ? [logs] : []),
  ]
}

function canListEnvironments(toolNames: ReadonlySet<string>): boolean {
  return toolNames.has('list-accounts') && toolNames.has('list-app-envs')
}

/**
 * Reads a resource. Throws `not-found` for an unknown address, and the error of the tool that reads it.
 */
export async function readResource(
  uri: string,
  toolNames: ReadonlySet<string>,
  callTool: CallTool,
): Promise<ResourceText> {
  const guide = guides.find(({ slug }) => uri === `${guidesAt}${slug}`)
  if (guide !== undefined) return guideText(guide.slug)
  const skill = guideOfSkill(uri)
  if (skill !== undefined) return { uri, mimeType: markdown, text: skillText(skill) }
  if (uri === appUri) return readApp()
  if (uri === environmentsAt && canListEnvironments(toolNames)) {
    return { uri, mimeType: json, text: JSON.stringify(await readEnvironments(callTool)) }
  }
  const name = environmentNameOf(uri)
  if (name !== null && toolNames.has('get-app-env-status')) {
    const status = await read(callTool, 'get-app-env-status', { ...refOf(name), maxTokens: mostTokens })
    return { uri, mimeType: json, text: JSON.stringify(status) }
  }
  const log = logOf(uri)
  if (log !== null && toolNames.has('get-logs')) {
    const input = { ...refOf(log.environment), type: log.type, size: loggedLines, maxTokens: mostTokens }
    return { uri, mimeType: logs.mimeType, text: (await done(callTool, 'get-logs', input)).text }
  }
  throw new AppError('not-found', 'Resource not found', {
    details: `resources/list shows the guides, skills and ${environmentsAt}; one environment is ${environment.uriTemplate}.`,
  })
}

/** A host reads a resource when a person wants it whole. */
const mostTokens = 100_000

function refOf(name: string): { appEnvId: string } | { envName: string } {
  return /^env_/.test(name) ? { appEnvId: name } : { envName: name }
}

export function guideText(wanted: GuideSlug): ResourceText {
  const { text } = guides.find(({ slug }) => slug === wanted) as (typeof guides)[number]
  return { uri: `${guidesAt}${wanted}`, mimeType: markdown, text }
}

/** Whether an address is a guide or a skill, which every caller reads alike. */
export function isGuide(uri: unknown): boolean {
  return guideOfSkill(uri) !== undefined || (typeof uri === 'string' && uri.startsWith(guidesAt))
}

/** Address of an environment, by envName or appEnvId. */
export function environmentUri(name: string): string {
  return `${environmentsAt}/${encodeURIComponent(name)}`
}

function environmentNameOf(uri: string): string | null {
  if (!uri.startsWith(`${environmentsAt}/`)) return null
  const part = uri.slice(environmentsAt.length + 1)
  try {
    return part === '' || part.includes('/') ? null : decodeURIComponent(part)
  } catch {
    return null
  }
}

async function readEnvironments(callTool: CallTool): Promise<Record<string, unknown>> {
  const { accounts } = (await read(callTool, 'list-accounts', {})) as { accounts: { accountId: string }[] }
  const environments: unknown[] = []
  let left = 0
  for (const { accountId } of accounts) {
    const { appEnvs } = (await read(callTool, 'list-app-envs', { accountId })) as { appEnvs: object[] }
    const room = mostEnvironments - environments.length
    environments.push(...appEnvs.slice(0, room).map((env) => ({ accountId, ...env })))
    left += Math.max(0, appEnvs.length - room)
  }
  return left === 0 ? { environments } : { environments, notShown: left, allOf: 'list-app-envs' }
}

/** The structured result of a tool call. Throws its error if it failed. */
async function read(callTool: CallTool, name: string, args: Record<string, unknown>) {
  return (await done(callTool, name, args)).structured
}

async function done(callTool: CallTool, name: string, args: Record<string, unknown>): Promise<ToolResult> {
  const result = await callTool(name, args)
  const { isError, structured } = result
  if (!isError) return result
  const { error, details, retryable } = structured as { error: string; details?: string; retryable: boolean }
  throw new AppError(retryable ? 'unavailable' : 'not-found', error, details === undefined ? {} : { details })
}
