import { fieldsOf } from '../../src/cli/rows/fields.ts'
import { wordsOf } from '../../src/cli/rows/words.ts'
import type { Operation } from '../../src/contract/operation.ts'
import { tools } from '../../tools/index.ts'
import type { Answer, Json } from '../api/scenario-call.ts'
import { runShell } from '../cli/shell-fixture.ts'
import { ofId, type SecretSweep } from './sweep.ts'

/** Makes one call as an operator of that surface does; returns the response, also that of a refusal. */
export type Send = (id: string, input: Json) => Promise<Answer>

/** The surfaces of an operator. A call that has no tool or command is made over REST. `looks`: the answer is not used. */
export const surfaces: Record<string, (sweep: SecretSweep, looks?: boolean) => Send> = {
  REST: (sweep) => async (id, input) => (await sweep.rest(ofId(id), input, sweep.platform.admin.token)).json,
  MCP: (sweep) => async (id, input) => {
    const tool = tools.find(({ name }) => name === id)
    if (!tool) return surfaces.REST!(sweep)(id, input)
    const wait = tool.waits ? { wait: false } : {}
    return (await sweep.tool(ofId(id), { ...input, ...wait })).structured
  },
  CLI:
    (sweep, looks = false) =>
    async (id, input) => {
      const row = ofId(id)
      if (withoutCommand.has(id)) return surfaces.REST!(sweep)(id, input)
      // People read the text, scripts the JSON.
      return shell(sweep, row, input, [...argvOf(row, input), ...(looks ? [] : ['--json'])])
    },
}

/** `restore` is made of several calls; `token create` prints the token, which is its answer. */
const withoutCommand = new Set(['create-user-token', 'restore-app-env-backup'])

async function shell(sweep: SecretSweep, row: Operation, input: Json, argv: string[]): Promise<Answer> {
  const { out, err } = await runShell(sweep.platform, argv, async () => null)
  const answer = argv.includes('--json') && out.startsWith('{') ? JSON.parse(out) : {}
  sweep.heard(`longshore ${argv.slice(0, 2).join(' ')}`, `${out}\n${err}`, row, input, answer)
  return answer
}

/** The command line that makes this call: every operation has one, derived from its row. */
function argvOf(row: Operation, input: Json): string[] {
  const { positionals, options } = fieldsOf(row)
  const places = positionals.map((name) =>
    String(name === 'environment' ? (input.appEnvId ?? input.envName) : input[name]),
  )
  const given = options.filter(({ field }) => input[field] !== undefined)
  const flags = given.flatMap(({ field, flags }) => {
    const value = input[field]
    const flag = flags[0]!.long!
    if (value === true) return [flag]
    if (Array.isArray(value) && value.every((one) => typeof one === 'string'))
      return value.flatMap((one) => [flag, one])
    return [flag, typeof value === 'object' ? JSON.stringify(value) : String(value)]
  })
  return [...wordsOf(row.id), ...places, ...flags, ...(row.method === 'DELETE' ? ['--yes'] : [])]
}
