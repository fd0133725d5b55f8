import type { SourceFiles } from '../builds/sample-sources.ts'

/** Source of a Node program; `command` in place of `node server.js`. */
export function nodeSource(code: string, command = ['node', 'server.js'], file = 'server.js'): SourceFiles {
  return { Dockerfile: dockerfile('node:20-alpine', command), [file]: code }
}

export function pythonSource(code: string, command = ['python3', '-u', 'server.py']): SourceFiles {
  return { Dockerfile: dockerfile('python:3.12-slim', command), 'server.py': code }
}

function dockerfile(base: string, command: readonly string[]): string {
  return `FROM ${base}\nWORKDIR /app\nCOPY . .\nCMD ${JSON.stringify(command)}\n`
}

/** Source whose image cannot be built because of one step. */
export function brokenStep(step: string): SourceFiles {
  return {
    Dockerfile: `FROM node:20-alpine\nWORKDIR /app\nCOPY . .\n${step}\nCMD ["node", "server.js"]\n`,
    'server.js': '',
  }
}

/** Node that listens and answers with `answer`, an expression that may use `request`; `then` runs once it listens. */
export function nodeServer(answer = "'hello'", then = '', status = '200'): string {
  return `const http = require('http')
http.createServer(async (request, response) => {
  const body = await (async () => ${answer})()
  response.statusCode = ${status}
  response.end(String(body))
}).listen(process.env.PORT, '0.0.0.0', () => { console.log('ready'); ${then} })
`
}

/**
 * Node that runs `code` after it answered a request, so that it never ends within its stability window, however late a
 * busy machine sees it ready.
 */
export function untilRequested(code: string): SourceFiles {
  return nodeSource(nodeServer(`(setTimeout(() => { ${code} }), 'hello')`))
}

export function pythonServer(host = '0.0.0.0', port = "int(os.environ['PORT'])", log = 'ready'): string {
  return `import os
from http.server import BaseHTTPRequestHandler, HTTPServer
class Handler(BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.end_headers()
        self.wfile.write(b'hello')
    def log_message(self, *args):
        pass
print(${JSON.stringify(log)})
HTTPServer(('${host}', ${port}), Handler).serve_forever()
`
}
