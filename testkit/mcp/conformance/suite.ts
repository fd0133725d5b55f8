import { spawn } from 'node:child_process'
import { existsSync, mkdtempSync } from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { pathToFileURL } from 'node:url'
import { removeFolder } from '../../remove-folder.ts'

const suite = path.resolve('node_modules/@modelcontextprotocol/conformance/dist/index.js')
const inspector = path.resolve('node_modules/@modelcontextprotocol/inspector-cli/build/cli.js')
const oldNode = pathToFileURL(path.resolve('testkit/mcp/conformance/old-node.mjs')).href

export const isSuiteFound = existsSync(suite)
export const isInspectorFound = existsSync(inspector)

export interface Ran {
  code: number | null
  out: string
  err: string
}

/** Runs the official conformance suite against a server. */
export function runSuite(url: string, ...args: string[]): Promise<Ran> {
  return inScratch((home) => run(['--import', oldNode, suite, 'server', '--url', url, ...args], home, home))
}

/** Runs the official inspector on the command line. `target` is a command or an address. */
export function runInspector(target: string[], args: string[]): Promise<Ran> {
  // It looks for its own package.json beside the folder it is started in.
  return inScratch((home) => run([inspector, '--cli', ...target, ...args], home, path.dirname(inspector)))
}

async function inScratch(work: (home: string) => Promise<Ran>): Promise<Ran> {
  const home = mkdtempSync(path.join(os.tmpdir(), 'longshore-official-'))
  try {
    return await work(home)
  } finally {
    removeFolder(home)
  }
}

function run(args: string[], home: string, cwd: string): Promise<Ran> {
  const child = spawn(process.execPath, args, { cwd, env: { PATH: process.env.PATH, HOME: home } })
  let out = ''
  let err = ''
  child.stdout.setEncoding('utf8').on('data', (text) => {
    out += text
  })
  child.stderr.setEncoding('utf8').on('data', (text) => {
    err += text
  })
  return new Promise((resolve) => child.once('close', (code) => resolve({ code, out, err })))
}
