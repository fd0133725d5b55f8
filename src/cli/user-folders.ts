import os from 'node:os'
import path from 'node:path'
import type { UserFolders } from '../client/mcp-hosts.ts'

/** The folders of the person whose environment this is. */
export function userFolders(env: NodeJS.ProcessEnv): UserFolders {
  const home = env.HOME ?? os.homedir()
  if (process.platform === 'darwin') return { home, config: path.join(home, 'Library/Application Support') }
  return { home, config: env.XDG_CONFIG_HOME || path.join(home, '.config') }
}
