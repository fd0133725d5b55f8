import { mkdir, readFile, rm, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { startFakeBackend } from '../fakes/backend.ts'

/** A `longshore serve` over the fake platform: one owner of the data directory at a time. */
export async function serveFake(env: NodeJS.ProcessEnv): Promise<void> {
  const home = env.LONGSHORE_HOME!
  const run = path.join(home, 'run')
  const refusal = await readFile(path.join(home, 'refuse-to-serve'), 'utf8').catch(() => null)
  if (refusal !== null) {
    process.stderr.write(`${refusal}\n`)
    process.exit(1)
  }
  await mkdir(run, { recursive: true })
  try {
    await writeFile(path.join(run, 'lock'), String(process.pid), { flag: 'wx' })
  } catch {
    process.stderr.write('another process has this home\n')
    process.exit(1)
  }
  const leave = async () => {
    await rm(path.join(run, 'serve.json'), { force: true })
    await rm(path.join(run, 'lock'), { force: true })
    process.exit(0)
  }
  process.once('SIGTERM', leave)
  const backend = await startFakeBackend()
  backend.state.add({ name: 'prod' })
  await writeFile(path.join(home, 'admin-token'), 'lsu_local\n')
  await writeFile(path.join(run, 'serve.json'), JSON.stringify({ pid: process.pid, api: backend.url }))
  process.stdout.write(`${JSON.stringify({ api: backend.url })}\n`)
}
