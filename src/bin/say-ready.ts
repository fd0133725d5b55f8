import { writeFileSync } from 'node:fs'
import { apiPrefix } from '../contract/operation.ts'
import type { Platform } from '../platform.ts'
import { startedAt } from '../store/home.ts'

/** One line of JSON on standard output for programs, the people's text on standard error (contract.md 10). */
export function sayReady(platform: Platform, apiUrl: string, gatewayUrl: string): void {
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
    `  API       ${facts.api}`,
    `  MCP       ${facts.mcp}   (or over stdio: longshore mcp)`,
    `  Apps      ${gatewayUrl}   by host: <envName>.fn.localhost, <envName>.app.localhost`,
    ...regions.map(({ region, engine }, index) => {
      const where = regions.length > 1 ? `${region}: ` : ''
      return `  ${index === 0 ? 'Engine' : '      '}    ${where}${engineText(engine.kind)}`
    }),
    `  Token     in ${facts.adminTokenFile}`,
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
  process.stdout.write(`${JSON.stringify(facts)}\n`)
}

function engineText(kind: string): string {
  if (kind !== 'process') return kind
  return 'process: runs your code as child processes of this machine, WITHOUT isolation. Start Docker for containers.'
}

/** Only this machine reaches it. */
export function isLoopback(host: string): boolean {
  return host === 'localhost' || host === '::1' || host.startsWith('127.')
}
