import { afterAll, beforeAll, beforeEach, expect } from 'vitest'
import { runCli } from '../../src/server/commands/run-cli.ts'
import { TestPlatform } from '../platform/test-platform.ts'

interface ShellFixture {
  platform: TestPlatform
  /** The answers of the person, one line for each question. */
  answers: string[]
  run(...argv: string[]): Promise<{ code: number; out: string; err: string }>
  // biome-ignore lint/suspicious/noExplicitAny: the answer of any command
  json(...argv: string[]): Promise<any>
  /** The cliEnvName of a new function or app. */
  created(...options: string[]): Promise<string>
}

/** One call of the command line as the platform's admin; without `ask`, as without a terminal. */
export async function runShell(
  platform: TestPlatform,
  argv: readonly string[],
  ask?: () => Promise<string | null>,
  variables: Record<string, string> = {},
): Promise<{ code: number; out: string; err: string }> {
  const said = { out: '', err: '' }
  const io = {
    stdout: { write: (text: string) => (said.out += text) },
    stderr: { write: (text: string) => (said.err += text) },
    onInterrupt: () => () => {},
    ...(ask ? { ask } : {}),
  }
  const env = { LONGSHORE_URL: platform.apiUrl, LONGSHORE_TOKEN: platform.admin.token, ...variables }
  return { code: await runCli(argv, env, io as never), ...said }
}

/** The command line of the admin of a platform that is shared by the tests of a file. */
export function shellFixture(): ShellFixture {
  let count = 0
  const fixture: ShellFixture = {
    platform: undefined as never,
    answers: [],
    run: (...argv) => runShell(fixture.platform, argv, async () => fixture.answers.shift() ?? null),
    async json(...argv) {
      const { code, out, err } = await fixture.run(...argv, '--json')
      expect(code, err + out).toBe(0)
      return JSON.parse(out)
    },
    async created(...options) {
      count += 1
      const app = ['create', `Shell ${count}`, '--port', '8080', '--region', 'local', ...options]
      return (await fixture.json(...app)).cliEnvName
    },
  }
  beforeAll(async () => {
    fixture.platform = await TestPlatform.start()
  })
  afterAll(() => fixture.platform.close())
  beforeEach(() => {
    fixture.answers = []
  })
  return fixture
}
