import { spawn } from 'node:child_process'
import { mkdtemp, writeFile } from 'node:fs/promises'
import net from 'node:net'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { freePort } from '../free-port.ts'
import { removeFolder } from '../remove-folder.ts'

/** A registry of its own on loopback, which Docker takes without TLS; needs Debian's `docker-registry`. */
export async function startRegistry(): Promise<{ address: string; stop(): Promise<void> }> {
  const port = await freePort()
  const dir = await mkdtemp(path.join(tmpdir(), 'longshore-registry-'))
  const config = path.join(dir, 'config.yml')
  await writeFile(
    config,
    `version: 0.1\nstorage: {filesystem: {rootdirectory: ${dir}/data}}\nhttp: {addr: '127.0.0.1:${port}'}\nlog: {level: error}\n`,
  )
  const child = spawn('docker-registry', ['serve', config], { stdio: 'ignore' })
  const ended = new Promise((resolve) => child.once('close', resolve))
  for (const endMs = performance.now() + 60_000; !(await listens(port)); ) {
    if (performance.now() > endMs || child.exitCode !== null) throw new Error('the registry did not start')
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
  return {
    address: `127.0.0.1:${port}`,
    async stop() {
      child.kill()
      await ended
      removeFolder(dir)
    },
  }
}

function listens(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = net.connect(port, '127.0.0.1', () => finish(true)).on('error', () => finish(false))
    function finish(answer: boolean) {
      socket.destroy()
      resolve(answer)
    }
  })
}
