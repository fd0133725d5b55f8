import { spawn } from 'node:child_process'
import { mkdtemp, writeFile } from 'node:fs/promises'
import os from 'node:os'
import path from 'node:path'
import { errorFromResponse } from '../client/answer-error.ts'
import { sendWithUndici } from '../client/undici-send.ts'
import { readConfig } from '../config/config.ts'
import { AppError } from '../errors.ts'
import type { Cli, CliCommand, Done } from './command.ts'
import { errorText, exitCodes } from './command-io.ts'
import { type Connection, resolveConnection } from './local/installation.ts'

/** `longshore console`: the address goes to standard output, everything else to standard error. */
export function addConsoleCommand(
  parent: CliCommand,
  cli: Cli,
  done: Done,
  open: (url: string) => Promise<boolean> = openBrowser,
): void {
  parent
    .command('console')
    .argument('[path]', 'page to open, such as environments/shop-prod')
    .summary('open the web console with a one-time sign-in link')
    .description(
      'Opens the web console in a browser with a sign-in link that works once, within 10 minutes. With --print, or if no browser can be opened, the link is only printed. A server that other machines can reach has no sign-in links: then only the address is printed, and you sign in with a token.',
    )
    .option('--print', 'print the link instead of opening it')
    .runs(cli, done, async ([page], options) => {
      const connection = await resolveConnection(readConfig(cli.env))
      const pathname = page === undefined ? undefined : pathInConsole(page)
      const url = await freshLink(connection, pathname).catch((error: unknown) => {
        if (!(error instanceof AppError) || error.kind !== 'forbidden') throw error
        cli.io.stderr.write(`${errorText(error)}\n`)
        return originOf(connection) + (pathname ?? '/console/')
      })
      const opened = options.print === true ? false : await open(url)
      cli.io.stderr.write(
        opened ? 'Opened the console in your browser.\n' : 'Open this address in a browser:\n',
      )
      cli.io.stdout.write(`${url}\n`)
      return exitCodes.done
    })
}

/** `environments/shop-prod`, also with `/console/` before it, as a path of the console. */
function pathInConsole(page: string): string {
  return `/console/${page.replace(/^\/?(?:console\/)?/, '')}`
}

async function freshLink(connection: Connection, next: string | undefined): Promise<string> {
  const base = originOf(connection)
  const answer = await sendWithUndici(`${base}/console/sign-in-link`, {
    method: 'POST',
    headers: { authorization: connection.token },
    body: null,
    signal: undefined,
  }).catch((cause) => {
    throw new AppError('unavailable', 'The platform cannot be reached', {
      details: `No connection to ${base}. Start the platform with "longshore serve".`,
      cause,
    })
  })
  const body: unknown = JSON.parse(answer.text)
  if (answer.status !== 200) throw errorFromResponse(answer, body, base)
  const url = new URL((body as { signInUrl: string }).signInUrl)
  if (next !== undefined) url.searchParams.set('next', next)
  return url.href
}

function originOf({ url }: Connection): string {
  return new URL(url).origin
}

/** False when no program can open addresses, for example over SSH. */
async function openBrowser(url: string): Promise<boolean> {
  // Arguments of a process are visible to every user of the machine, so the browser gets a private file.
  const file = path.join(await mkdtemp(path.join(os.tmpdir(), 'longshore-console-')), 'sign-in.html')
  await writeFile(file, `<!doctype html><meta http-equiv="refresh" content="0;url=${url}">`, { mode: 0o600 })
  return new Promise((resolve) => {
    const child = spawn(process.platform === 'darwin' ? 'open' : 'xdg-open', [file], { stdio: 'ignore' })
    child.once('error', () => resolve(false))
    child.once('exit', (code) => resolve(code === 0))
  })
}
