import { afterAll, beforeAll, expect } from 'vitest'
import { TestPlatform } from '../platform/test-platform.ts'
import { makeWorld, type World } from './account-world.ts'
import { openToolSession, type ToolReply, type ToolSession } from './tool-session.ts'

export type Json = Record<string, unknown>

/** An agent with an admin token that changes the objects of a world and takes the changes back. */
export class UndoFixture {
  platform!: TestPlatform
  session!: ToolSession
  world!: World

  constructor() {
    beforeAll(async () => {
      this.platform = await TestPlatform.start({ reconciles: false })
      const { accountId, admin, apiUrl } = this.platform
      this.session = await openToolSession(apiUrl, { token: admin.token, toolPolicy: { allowSecrets: true } })
      this.world = await makeWorld(this.platform, 'WORLD', accountId)
    })
    afterAll(async () => {
      await this.session.close()
      await this.platform.close()
    })
  }

  async call(name: string, input: Json, by = this.session): Promise<Json> {
    const said = await by.call(name, input)
    if (said.isError) throw new Error(`${name}: ${said.text}`)
    return said.structured
  }

  /** The newest change of an object, as the agent finds it; reads of secrets are on record too. */
  async newest(objectId: string, operation: string) {
    const { accountId } = this.platform
    const { entries } = (await this.call('list-audit', { accountId, objectId })) as {
      entries: { entryId: string; operation: string; outcome: string; surface: string }[]
    }
    const change = entries.find((entry) => !entry.operation.startsWith('get-'))
    expect(change).toMatchObject({ operation, outcome: 'done' })
    return change!
  }

  /** The steps of an agent whose host cannot ask: first without confirm, then with the name from the error. */
  async undo(entryId: string, by = this.session): Promise<ToolReply> {
    const asked = await by.call('undo-change', { entryId })
    const confirm = asked.structured.name ?? /exact name: (\S+)/.exec(asked.text)?.[1]
    return confirm === undefined ? asked : by.call('undo-change', { entryId, confirm })
  }

  async undoAsPerson(entryId: string): Promise<void> {
    const { token } = this.platform.admin
    const { status, text } = await this.platform.request('POST', '/audit/undo', { token, input: { entryId } })
    if (status !== 200) throw new Error(text)
  }

  /** The contact point of the world, with its secrets. */
  point(): Promise<Json> {
    return this.call('get-contact-point', { contactPointId: this.world.contactPointId, showSecrets: true })
  }
}
