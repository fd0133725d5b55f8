import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import type { Registry } from './command.ts'

const timeoutMs = 5_000
const run = promisify(execFile)

/** Why images cannot be built and pushed now; null if they can. */
export async function buildProblem(address: string, registry: Registry): Promise<string | null> {
  try {
    await run('buildctl', ['--addr', address, 'debug', 'workers'], { timeout: timeoutMs })
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT')
      return "BuildKit's client program buildctl is not in PATH. Install it, or add its folder to PATH."
    return `BuildKit does not answer at ${address}. Start buildkitd, or correct buildkit of the region.`
  }
  const host = registry.push.split('/')[0] ?? ''
  try {
    const url = `${registry.insecure ? 'http' : 'https'}://${host}/v2/`
    const { status } = await fetch(url, { signal: AbortSignal.timeout(timeoutMs) })
    // 401: the registry requires credentials, which BuildKit has.
    if (status < 400 || status === 401) return null
    return `The registry ${host} answers with status ${status}. Correct registry of the region.`
  } catch {
    return `The registry ${host} does not answer. Start it, or correct registry of the region.`
  }
}
