import { execFileSync, spawn } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import http from 'node:http'
import type { AddressInfo } from 'node:net'
import os from 'node:os'
import path from 'node:path'

/** A Git host on loopback that speaks the smart HTTP protocol, with repositories that tests fill. */
export class GitHost {
  readonly #dir = mkdtempSync(path.join(os.tmpdir(), 'longshore-git-'))
  readonly #server = http.createServer((request, response) => this.#answer(request, response))
  /** Requests seen, such as `GET /team/app.git/info/refs?service=git-upload-pack`. */
  readonly requests: string[] = []
  /** Answers every request with a redirect to here when set. */
  redirectTo: string | null = null

  async start(): Promise<string> {
    await new Promise<void>((resolve) => this.#server.listen(0, '127.0.0.1', resolve))
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`
  }

  async close(): Promise<void> {
    this.#server.closeAllConnections()
    await new Promise((resolve) => this.#server.close(resolve))
    rmSync(this.#dir, { recursive: true, force: true })
  }

  /** Commits the files (a value `-> target` makes a link) to a branch; answers the commit's id. */
  commit(repository: string, branch: string, files: Record<string, string>): string {
    const bare = path.join(this.#dir, 'hosted', `${repository}.git`)
    const work = path.join(this.#dir, 'work', repository)
    const git = (args: string[], cwd = work) =>
      execFileSync('git', args, { cwd, env: this.#env, encoding: 'utf8' }).trim()
    mkdirSync(bare, { recursive: true })
    git(['init', '--quiet', '--bare'], bare)
    mkdirSync(work, { recursive: true })
    git(['init', '--quiet'])
    git(['checkout', '--quiet', '-B', branch])
    for (const [name, text] of Object.entries(files)) {
      const file = path.join(work, name)
      mkdirSync(path.dirname(file), { recursive: true })
      rmSync(file, { force: true })
      if (text.startsWith('-> ')) symlinkSync(text.slice(3), file)
      else writeFileSync(file, text)
    }
    git(['add', '--all'])
    git(['commit', '--quiet', '--allow-empty', '--message', 'a change'])
    git(['push', '--quiet', '--force', bare, `HEAD:refs/heads/${branch}`])
    return git(['rev-parse', 'HEAD'])
  }

  /** Commits a tree that holds the branch's tree many times, in folders of folders; the repository hardly grows. */
  repeat(repository: string, branch: string, { times, levels }: { times: number; levels: number }): void {
    const work = path.join(this.#dir, 'work', repository)
    const bare = path.join(this.#dir, 'hosted', `${repository}.git`)
    const git = (args: string[], input = '') =>
      execFileSync('git', args, { cwd: work, env: this.#env, encoding: 'utf8', input }).trim()
    let tree = git(['rev-parse', 'HEAD^{tree}'])
    for (let level = 0; level < levels; level += 1) {
      const rows = Array.from({ length: times }, (_, index) => `040000 tree ${tree}\td${index}\n`)
      tree = git(['mktree'], rows.join(''))
    }
    const commit = git(['commit-tree', tree, '-m', 'a change'])
    git(['push', '--quiet', '--force', bare, `${commit}:refs/heads/${branch}`])
  }

  get #env(): NodeJS.ProcessEnv {
    const who = { NAME: 'Test', EMAIL: 'test@example.com' }
    return {
      PATH: process.env.PATH,
      HOME: this.#dir,
      GIT_CONFIG_NOSYSTEM: '1',
      GIT_AUTHOR_NAME: who.NAME,
      GIT_AUTHOR_EMAIL: who.EMAIL,
      GIT_COMMITTER_NAME: who.NAME,
      GIT_COMMITTER_EMAIL: who.EMAIL,
    }
  }

  #answer(request: http.IncomingMessage, response: http.ServerResponse): void {
    this.requests.push(`${request.method} ${request.url}`)
    if (this.redirectTo !== null) {
      response.writeHead(301, { location: `${this.redirectTo}${request.url}` }).end()
      return
    }
    const url = new URL(request.url ?? '/', 'http://host')
    const child = spawn('git', ['http-backend'], {
      env: {
        ...this.#env,
        GIT_PROJECT_ROOT: path.join(this.#dir, 'hosted'),
        GIT_HTTP_EXPORT_ALL: '1',
        REQUEST_METHOD: request.method,
        PATH_INFO: url.pathname,
        QUERY_STRING: url.search.slice(1),
        CONTENT_TYPE: request.headers['content-type'] ?? '',
        HTTP_CONTENT_ENCODING: String(request.headers['content-encoding'] ?? ''),
        GIT_PROTOCOL: String(request.headers['git-protocol'] ?? ''),
        GIT_CONFIG_COUNT: '1',
        GIT_CONFIG_KEY_0: 'uploadpack.allowReachableSHA1InWant',
        GIT_CONFIG_VALUE_0: 'true',
      },
      stdio: ['pipe', 'pipe', 'ignore'],
    })
    request.pipe(child.stdin)
    const chunks: Buffer[] = []
    child.stdout.on('data', (part: Buffer) => chunks.push(part))
    child.once('close', () => answerOfCgi(Buffer.concat(chunks), response))
  }
}

function answerOfCgi(output: Buffer, response: http.ServerResponse): void {
  const end = output.indexOf('\r\n\r\n')
  const headers = output.subarray(0, Math.max(0, end)).toString().split('\r\n')
  for (const header of headers) {
    const [name = '', value = ''] = header.split(/:\s*/, 2)
    if (name === 'Status') response.statusCode = Number.parseInt(value, 10)
    else if (name) response.setHeader(name, value)
  }
  response.end(output.subarray(end + 4))
}
