import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { consolePath, signInUrl } from '../api/sign-in-routes.ts'
import type { Config } from '../config/config.ts'
import { apiPrefix } from '../contract/operation.ts'
import type { Engine } from '../engines/engine.ts'
import { AppError } from '../errors.ts'
import { isLoopback } from '../loopback.ts'
import type { ConsoleSessions } from '../operations/access/console-sessions.ts'
import { startedAt } from '../process-start.ts'
import { regionProblems, type Started } from './installation.ts'
import type { Platform } from './platform.ts'

/** JSON on standard output for programs, text for people on standard error (docs/interface.md#the-ready-line). */
export function printReady(
  platform: Platform,
  started: Started,
  gatewayUrl: string,
  signInUrl: string | null,
): void {
  const { apiUrl } = started
  const { config, home, accountId, regions } = platform
  const kinds = regions.map(({ engine }) => engine.kind)
  const facts = {
    api: `${apiUrl}${apiPrefix}`,
    mcp: `${apiUrl}/mcp`,
    gateway: gatewayUrl,
    engine: kinds[0] ?? '',
    home: home.dir,
    accountId,
    adminTokenFile: home.adminToken,
    console: `${apiUrl}${consolePath}`,
  }
  writeFileSync(
    home.serveFile,
    JSON.stringify({ pid: process.pid, started: startedAt(process.pid), ...facts }),
    { mode: 0o600 },
  )
  const lines = [
    '',
    `  Longshore is ready.`,
    '',
    `  Console   ${signInUrl ?? facts.console}${signInUrl ? '   (signs in once, within 10 minutes)' : ''}`,
    `  API       ${facts.api}`,
    `  MCP       ${facts.mcp}   (or over stdio: longshore mcp)`,
    ...addressLines(config, gatewayUrl),
    ...regions.map(({ region, engine }, index) => {
      const where = regions.length > 1 ? `${region}: ` : ''
      return `  ${index === 0 ? 'Engine' : '      '}    ${where}${engineText(engine)}`
    }),
    ...[platform.reserve.problem, ...regionProblems(platform, started)].flatMap((problem) =>
      problem === null ? [] : [`  WARNING   ${problem}`],
    ),
    // Only the control plane that made the installation has it.
    ...(existsSync(facts.adminTokenFile) ? [`  Token     in ${facts.adminTokenFile}`] : []),
    '',
  ]
  if (config.clockScale !== 1) {
    lines.push(
      `  WARNING   LONGSHORE_CLOCK_SCALE=${config.clockScale}: idle times and windows run that many times faster.`,
      '',
    )
  }
  if (!isLoopback(config.host)) {
    lines.push(`  WARNING   LONGSHORE_HOST=${config.host}: reachable from other machines, without TLS.`, '')
  }
  process.stderr.write(`${lines.join('\n')}\n`)
  process.stdout.write(`${JSON.stringify({ ...facts, signInUrl })}\n`)
}

function addressLines({ domains: { appDomain, functionDomain } }: Config, gatewayUrl: string): string[] {
  return [
    `  Apps      ${gatewayUrl}   by host: <envName>.${functionDomain}, <envName>.${appDomain}`,
    `            without DNS for *.${functionDomain}: curl -H 'Host: <envName>.${functionDomain}' ${gatewayUrl}/`,
  ]
}

function engineText(engine: Engine): string {
  if (engine.kind !== 'process') return engine.kind
  return `process: runs your code as child processes of this machine. ${engine.isolation?.().reason}`
}

/** A link that signs the admin of this data directory in once; null when not bound to loopback, or without a good token. */
export async function firstSignInUrl(
  { config, home }: Platform,
  apiUrl: string,
  sessions: ConsoleSessions,
): Promise<string | null> {
  if (!isLoopback(config.host)) return null
  try {
    const { code } = await sessions.createLink(readFileSync(home.adminToken, 'utf8').trim())
    return signInUrl(apiUrl, code)
  } catch (error) {
    const noToken = (error as NodeJS.ErrnoException).code === 'ENOENT'
    if (noToken || (error instanceof AppError && error.kind === 'unauthenticated')) return null
    throw error
  }
}
