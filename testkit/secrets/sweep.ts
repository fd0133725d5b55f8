import { operations } from '../../src/contract/index.ts'
import type { Operation } from '../../src/contract/operation.ts'
import type { Json } from '../api/scenario-call.ts'
import type { ToolReply, ToolSession } from '../mcp/tool-session.ts'
import type { RawAnswer } from '../platform/raw-request.ts'
import type { TestPlatform } from '../platform/test-platform.ts'
import { Canaries, type Output } from './canaries.ts'

export function ofId(id: string): Operation {
  const row = operations.find((one) => one.id === id)
  if (!row) throw new Error(`no operation ${id}`)
  return row
}

/** Makes calls and collects all outputs, separated by whether a secret was requested. */
export class SecretSweep {
  readonly secrets = new Canaries()
  readonly outputs: Output[] = []
  /** Outputs that must contain a requested secret, or the sweep proves nothing. */
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
    this.heard(`REST ${row.id} ${answer.status}`, all, row, input, answer.status === 200 ? answer.json : {})
    return answer
  }

  async tool(row: Operation, input: Json, at: ToolSession = this.session): Promise<ToolReply> {
    const reply = await at.call(row.id, input)
    const text = `${reply.text}\n${JSON.stringify(reply.structured)}`
    this.heard(`tool ${row.id}${reply.isError ? ' refused' : ''}`, text, row, input, reply.structured)
    return reply
  }

  /** Keeps the answer of a call. */
  heard(where: string, text: string, row: Operation, input: Json, answer: Json): void {
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
