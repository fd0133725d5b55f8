// npm run dev: serves the platform, builds again on each change of src/ or tools/, and starts it again. Containers and
// the gateway go on meanwhile; open pages of the console reload themselves.
import { spawn } from 'node:child_process'
import { watch } from 'node:fs'
import { buildConsole } from '../build-console.mjs'

const consoleFile = /^console\//
let server = null
let changed = new Set()

const ended = (child) => new Promise((resolve) => child.once('exit', resolve))

/** Builds what `files` need; false when the build failed, after the bundler has printed why. */
async function build(files) {
  // The first build was made by the command itself.
  if ([...files].some((file) => !consoleFile.test(file))) {
    const code = await ended(spawn(process.execPath, ['build.mjs'], { stdio: 'inherit' }))
    if (code !== 0) return false
  }
  return buildConsole('dist', { development: true }).then(
    () => true,
    () => false,
  )
}

async function restart() {
  if (server && server.exitCode === null && server.signalCode === null) {
    const gone = ended(server)
    server.kill('SIGTERM')
    await gone
  }
  server = spawn(process.execPath, ['dist/longshore.js', 'serve'], { stdio: 'inherit' })
}

async function pass() {
  const files = changed
  changed = new Set()
  if (await build(files)) await restart()
}

let running = pass()
let timer = null
for (const folder of ['src', 'tools']) {
  watch(folder, { recursive: true }, (_event, file) => {
    changed.add(folder === 'src' ? String(file) : `${folder}/${file}`)
    clearTimeout(timer)
    // An editor saves in several steps.
    timer = setTimeout(() => {
      running = running.then(pass)
    }, 150)
  })
}
// Ctrl-C reaches the server by itself; SIGTERM does not.
process.once('SIGTERM', () => server?.kill('SIGTERM'))
for (const signal of ['SIGINT', 'SIGTERM'])
  process.once(signal, () => {
    if (!server || server.exitCode !== null) process.exit(0)
    server.once('exit', () => process.exit(0))
  })
