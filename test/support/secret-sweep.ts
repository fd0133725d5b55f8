import { operations } from '../../src/contract/index.ts'
import type { Operation } from '../../src/contract/operation.ts'
import type { Said, ToolSession } from '../mcp/tool-session.ts'
import { Canaries, type Output } from './canaries.ts'
import type { Json } from './example-story.ts'
import type { RawAnswer, TestPlatform } from './test-platform.ts'

export function ofId(id: string): Operation {
  const row = operations.find((one) => one.id === id)
  if (!row) throw new Error(`no operation ${id}`)
  return row
}

/** Makes calls and keeps all that comes out, in two heaps: with and without the secrets it was asked for. */
export class SecretSweep {
  readonly secrets = new Canaries()
  readonly outputs: Output[] = []
  /** What showed a secret because it was asked to: it must be found there, or the sweep would prove nothing. */
  readonly explicit: Output[] = []
  platform!: TestPlatform
  session!: ToolSession

  async rest(
    row: Operation,
    input: Json,
    token: string | null,
    headers: Record<string, string> = {},
  ): Promise<RawAnswer> {
    const answer = await this.platform.request(row.method, row.path, { input, token, headers })
    const all = `${JSON.stringify(Object.fromEntries(answer.headers))}\n${answer.text}`
    this.#note(`REST ${row.id} ${answer.status}`, all, row, input, answer.status === 200 ? answer.json : {})
    return answer
  }

  async tool(row: Operation, input: Json, at: ToolSession = this.session): Promise<Said> {
    const said = await at.call(row.id, input)
    const text = `${said.text}\n${JSON.stringify(said.structured)}`
    this.#note(`tool ${row.id}${said.isError ? ' refused' : ''}`, text, row, input, said.structured)
    return said
  }

  #note(where: string, text: string, row: Operation, input: Json, answer: Json): void {
    const asks = input.decrypt === true || input.showSecrets === true
    const shown = this.#shownOnce(row, answer)
    const rest = shown.reduce((left, secret) => left.replaceAll(secret, '(shown once)'), text)
    if (asks) this.explicit.push({ where, text })
    else this.outputs.push({ where, text: rest })
  }

  /** Tokens and upload addresses that an answer shows once: secrets from then on, everywhere else. */
  #shownOnce({ id }: Operation, answer: Json): string[] {
    if (typeof answer.token === 'string') return [this.secrets.know(`token of ${id}`, answer.token)]
    if (typeof answer.uploadUrl !== 'string') return []
    return [this.secrets.know('upload address', answer.uploadUrl.split('/').at(-1)!)]
  }
}
