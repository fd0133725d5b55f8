import { expect, it } from 'vitest'
import {
  type DiagnosisCause,
  diagnosisCauses,
  evidenceSources,
  type Finding,
} from '../../../src/contract/diagnosis.ts'
import { operations } from '../../../src/contract/index.ts'
import type { Facts } from '../../../src/domain/diagnosis/facts.ts'
import { withNextStep } from '../../../src/domain/diagnosis/next-step.ts'
import { runCli } from '../../../src/server/commands/run-cli.ts'
import { startScriptedPlatform } from '../../../testkit/cli/scripted-platform.ts'

const kinds = ['app', 'function', 'database', 'job'] as const
const operationIds = operations.map(({ id }) => id)
const ids = new RegExp(`(?<![\\w-])(?:${operationIds.join('|')})(?![\\w-])`)
/** The first name of a tool in a text, commands left aside: some are named alike. */
const toolIn = (text: string) => ids.exec(text.replace(/longshore [a-z]+ [a-z-]+/g, ''))?.[0]

function findingOf(cause: DiagnosisCause, kind: Facts['kind'], latest: unknown): Finding {
  const finding: Finding = {
    cause,
    severity: 'critical',
    confidence: 'certain',
    summary: 'It does not work.',
    since: null,
    evidence: [{ source: 'deployment', at: null, text: 'It ended. get-logs shows its output.' }],
    fix: null,
  }
  const logs = { failedLog: [], servingLog: [] }
  const facts = { kind, port: 3000, latest, databases: [], ...logs } as unknown as Facts
  return withNextStep(facts, finding)
}

async function why(findings: readonly Finding[], ...command: string[]): Promise<string> {
  const body = { appEnvId: 'env_1', healthy: false, findings, checked: [], checkedAt: '2026-11-01T00:00:00Z' }
  const platform = await startScriptedPlatform({
    refuse: { 'GET /app-env/diagnosis': { status: 200, body } },
  })
  let out = ''
  const stream = { write: (text: string) => (out += text) }
  const io = { stdout: stream, stderr: stream, onInterrupt: () => () => {}, ask: async () => null }
  const env = { LONGSHORE_URL: platform.url, LONGSHORE_TOKEN: 'lsu_test' }
  expect(await runCli(command.length > 0 ? command : ['why', 'shop-prod'], env, io as never), out).toBe(0)
  await platform.close()
  return out
}

it('G1 every cause of the catalog ends with a next step, in the shell as commands', async () => {
  const findings = diagnosisCauses.flatMap((cause) =>
    kinds.flatMap((kind) => [null, {}].map((latest) => findingOf(cause, kind, latest))),
  )
  for (const { summary } of findings) expect(summary).toMatch(/^It does not work\. [A-Zg].{20,}\.$/)
  const out = await why(findings)
  expect(out).toContain('longshore logs shop-prod --type BUILD')
  expect(out).toContain('longshore deploy shop-prod --dir <folder>')
  expect(out).toContain('Listen on the port in PORT (the app declares 3000) on 0.0.0.0')
  expect(toolIn(out)).toBeUndefined()
})

it('names commands in evidence of the platform, and leaves what a program printed as it is', async () => {
  const text = `${operationIds.join(', ')}.`
  const evidence = evidenceSources.map((source) => ({ source, at: null, text }))
  const lines = (await why([{ ...findingOf('stopped', 'app', {}), evidence }])).split('\n')
  const output = lines.filter((line) => /^ +(?:build-)?log: /.test(line))
  expect(output.map((line) => line.replace(/^[^:]*: /, ''))).toEqual([text, text])
  expect(toolIn(lines.filter((line) => !output.includes(line)).join('\n'))).toBeUndefined()
})

it.each([
  ['pnpm ERR OUTDATED_LOCKFILE', 'pnpm install'],
  ['go.sum is missing', 'go mod tidy'],
  ['npm error EUSAGE', 'npm install'],
])('names the command that writes the lock file of %j', (text, command) => {
  const finding = {
    ...findingOf('lock-file', 'app', {}),
    evidence: [{ source: 'build-log', at: null, text }],
  }
  const { summary } = withNextStep({} as Facts, finding as Finding)
  expect(summary).toContain(`Run \`${command}\` locally`)
})
