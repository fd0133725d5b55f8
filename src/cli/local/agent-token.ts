import { link, readFile, rm, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { createClient } from '../../client/client.ts'
import { createUserToken, revokeUserToken } from '../../contract/users.ts'
import { readAdminToken } from './installation.ts'

/**
 * The token of the agents of this machine, in `<home>/agent-token`. The first use makes it for the local admin, so that
 * agents never act with the admin's own. Null without an admin token. A revoked one stays: revoking it stops the agents.
 */
export async function localAgentToken(home: string, url: string): Promise<string | null> {
  const file = path.join(home, 'agent-token')
  const known = await read(file)
  if (known !== null) return known
  const adminToken = await readAdminToken(home)
  if (adminToken === null) return null
  const admin = createClient({ url, token: adminToken, surface: 'cli' })
  const { token, tokenId } = await admin.call(createUserToken, {
    name: 'Agents of this machine',
    kind: 'agent',
  })
  const draft = `${file}.${process.pid}`
  await writeFile(draft, `${token}\n`, { mode: 0o600, flush: true })
  try {
    // Unlike a rename, a link fails if another process was faster.
    await link(draft, file)
    return token
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
    // Nothing uses it; if this fails, it stays in the list of tokens.
    await admin.call(revokeUserToken, { tokenId }).catch(() => {})
    return read(file)
  } finally {
    await rm(draft, { force: true })
  }
}

async function read(file: string): Promise<string | null> {
  const text = await readFile(file, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return ''
    throw error
  })
  return text.trim() || null
}
